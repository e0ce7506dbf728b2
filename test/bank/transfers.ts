// Helpers of the tests that order transfers and inquire their status.

import assert from 'node:assert/strict';
import { type BankResponse, type Partner } from './partner.ts';

export const INTRABANK_PATH = '/v1.0/transfer-intrabank';
export const INTERBANK_PATH = '/v1.0/transfer-interbank';
export const STATUS_PATH = '/v1.0/transfer/status';

/** A valid body of service 17. */
export const INTRABANK_ORDER = {
  partnerReferenceNo: 'PAY-17',
  amount: { value: '150000.00', currency: 'IDR' },
  beneficiaryAccountNo: '8888010001',
  sourceAccountNo: '8888019999',
  transactionDate: '2026-11-21T10:30:24+07:00',
} as const;

/** A valid body of service 18. */
export const INTERBANK_ORDER = {
  ...INTRABANK_ORDER,
  partnerReferenceNo: 'PAY-18',
  beneficiaryAccountNo: '888801000157508',
  beneficiaryAccountName: 'Yories Yolanda',
  beneficiaryBankCode: '002',
} as const;

/** Orders an interbank transfer to an account with this ending, and returns the bank's reference. */
export async function orderTransfer(partner: Partner, partnerReferenceNo: string, ending: string): Promise<string> {
  const beneficiaryAccountNo = `88880100${ending}`;
  const answer = await partner.send(INTERBANK_PATH, {
    ...INTERBANK_ORDER,
    partnerReferenceNo,
    beneficiaryAccountNo,
  });
  assert.equal(answer.fields['responseCode'], '2001800', answer.text);
  return String(answer.fields['referenceNo']);
}

export function inquireStatus(partner: Partner, partnerReferenceNo: string, serviceCode = '18'): Promise<BankResponse> {
  return partner.send(STATUS_PATH, { originalPartnerReferenceNo: partnerReferenceNo, serviceCode });
}

/**
 * `latestTransactionStatus`, followed by `previousResponseCode` where there is one; `responseCode` of a rejected
 * inquiry.
 */
export async function statusOf(partner: Partner, partnerReferenceNo: string): Promise<string> {
  const { status, fields } = await inquireStatus(partner, partnerReferenceNo);
  if (status !== 200) return String(fields['responseCode']);
  return [fields['latestTransactionStatus'], fields['previousResponseCode']].join(' ').trim();
}

export interface ClockResponse {
  readonly now: string;
  readonly advanced_seconds: number;
}

/** Advances the clock of transfers. */
export async function advanceClock(baseUrl: string, seconds: number): Promise<ClockResponse> {
  const response = await sendToClock(baseUrl, JSON.stringify({ advance_seconds: seconds }));
  assert.equal(response.status, 200);
  return (await response.json()) as ClockResponse;
}

export function sendToClock(baseUrl: string, body: string, contentType = 'application/json'): Promise<Response> {
  return fetch(`${baseUrl}/simulation/clock`, {
    method: 'POST',
    headers: { 'Content-Type': contentType },
    body,
    signal: AbortSignal.timeout(10_000),
  });
}

import type { Rail } from '../rails/rail.ts';
import type { AdaptiveConcurrency } from './adaptive-concurrency.ts';
import type { InquiryOutcomes } from './outcomes.ts';

export type StatusInquiryRail = Rail & Required<Pick<Rail, 'inquireStatus'>>;

/** A rail that can be asked about transfers, with what is kept for each. */
export interface InquiryRail {
  readonly rail: StatusInquiryRail;
  readonly concurrency: AdaptiveConcurrency;
  readonly outcomes: InquiryOutcomes;
}

/** By the rail's name. */
export type InquiryRails = ReadonlyMap<string, InquiryRail>;

export const supportsStatusInquiry = (rail: Rail): rail is StatusInquiryRail => rail.inquireStatus !== undefined;

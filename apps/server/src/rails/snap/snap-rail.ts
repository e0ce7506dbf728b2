import { type Bank, isAliasDirectory, isEWallet } from '../../domain/bank.ts';
import { isNamed, isServed } from '../protocol.ts';
import { type AccountInquiry, type InquiryOutcome, NOT_SUPPORTED, type Rail, type StatusInquiry } from '../rail.ts';
import { createAccountInquiry } from './account-inquiry.ts';
import { createAliasInquiries } from './alias-inquiry.ts';
import { createSnapExchange, type SnapExchange, snapInquiryFailureOf } from './exchange.ts';
import { bankCodeOf } from './message-fields.ts';
import { findRoute, profileOf, type SnapSettings } from './settings.ts';
import { createTransferStatus, type SentStatusInquiry } from './transfer-status.ts';
import { createWalletInquiries } from './wallet-inquiries.ts';
import { numbersOfWallet } from './wallets.ts';

/**
 * SNAP BI, the Indonesian national standard for open API payments, in the variant of the bank's profile: account
 * inquiries (services 15, 16 and 37) and transaction status inquiries (36). Throws when the profile has no such route.
 */
export function createSnapRail(settings: SnapSettings): Rail {
  const profile = profileOf(settings);
  const { services, bankCode, firstStatusInquiryMs } = profile;
  const { route: routeName, routeParameters = {}, externalIdIsReference = false } = settings.choices ?? {};
  const route = findRoute(profile, routeName);
  if (route === undefined) throw new Error(`${settings.name}: the profile has no route ${routeName}`);
  const otherAccountDigits = { min: 1, max: route.accountDigitsMax };
  const exchange = createSnapExchange(settings);
  const internalInquiry = createAccountInquiry(profile, null, {});
  const externalInquiry = createAccountInquiry(profile, route, routeParameters);

  const isOwn = (bank: Bank): boolean => bank.bic === settings.ownBank && services.accountInquiryInternal !== null;
  // Without both codes, replies about different banks could not be distinguished.
  const hasCodes = (bank: Bank): boolean =>
    bankCodeOf(bankCode.sent, bank) !== null && bankCodeOf(bankCode.echoed, bank) !== null;
  const internalTo = (bank: Bank) => (isOwn(bank) ? services.accountInquiryInternal : null);

  const walletInquiries = createWalletInquiries(profile, settings.wallets, exchange, externalInquiry);
  const aliasInquiries = createAliasInquiries(settings, route, exchange);

  function supportsAccountNumber(inquiry: AccountInquiry): boolean {
    const { bank, accountNumber } = inquiry;
    if (isAliasDirectory(bank)) return aliasInquiries.supports(inquiry);
    const { min, max } = internalTo(bank)?.accountDigits ?? otherAccountDigits;
    const { length } = accountNumber;
    const digits = isEWallet(bank) ? length + walletInquiries.extraDigits(bank) : length;
    return digits >= min && digits <= max;
  }

  function inquireAccount(inquiry: AccountInquiry, signal: AbortSignal): Promise<InquiryOutcome> {
    if (!supportsAccountNumber(inquiry)) return Promise.resolve(NOT_SUPPORTED);
    const outcome = inquireBy(inquiry.bank)(inquiry, signal);
    return outcome.catch((error: unknown) => ({ kind: 'no_verdict', ...snapInquiryFailureOf(error, signal) }));
  }

  function inquireBy(bank: Bank): Rail['inquireAccount'] {
    if (isEWallet(bank)) return walletInquiries.inquire;
    return isAliasDirectory(bank) ? aliasInquiries.inquire : inquireBank;
  }

  function inquireBank({ bank, accountNumber }: AccountInquiry, signal: AbortSignal): Promise<InquiryOutcome> {
    const internal = internalTo(bank);
    const bankCodeSent = internal === null ? bankCodeOf(bankCode.sent, bank) : null;
    const bankCodeEchoed = internal === null ? bankCodeOf(bankCode.echoed, bank) : null;
    if (internal === null && (bankCodeSent === null || bankCodeEchoed === null)) return Promise.resolve(NOT_SUPPORTED);

    const { path, code } = internal ?? services.accountInquiryExternal;
    const sent = { service: code, accountNumber: accountNumber.reveal(), bankCodeSent, bankCode: bankCodeEchoed };
    return exchange.send(internal === null ? externalInquiry : internalInquiry, path, sent, signal);
  }

  return {
    name: settings.name,
    distinguishesClosed: profile.distinguishesClosed,
    ...(firstStatusInquiryMs === null ? {} : { firstStatusInquiryMs }),
    reaches(bank) {
      if (isEWallet(bank)) return isNamed(bank, settings) && settings.wallets?.has(bank.bic) === true;
      if (isAliasDirectory(bank)) return aliasInquiries.reaches(bank);
      return isServed(bank, settings) && (isOwn(bank) || hasCodes(bank));
    },
    supportsAccountNumber,
    inquireAccount,
    // Where the inquiry must name the order's X-EXTERNAL-ID, it is impossible without it.
    ...(profile.statusInquiryNeedsExternalId && !externalIdIsReference
      ? {}
      : { inquireStatus: createStatusInquiry(settings, exchange) }),
    close: () => exchange.close(),
  };
}

/** Transaction status inquiries (36). */
function createStatusInquiry(settings: SnapSettings, exchange: SnapExchange): NonNullable<Rail['inquireStatus']> {
  const { services } = profileOf(settings);
  const { externalIdIsReference = false } = settings.choices ?? {};
  const transferStatus = createTransferStatus(services.transferStatus.code);

  return (inquiry, signal) => {
    const held = inquiry.accountNumber.reveal();
    const wallet = settings.wallets?.get(inquiry.bank?.bic ?? '');
    const sent: SentStatusInquiry = {
      reference: inquiry.reference,
      externalId: externalIdIsReference ? inquiry.reference : null,
      service: transferServiceOf(inquiry, settings),
      amount: inquiry.amount,
      currency: inquiry.currency,
      createdAt: inquiry.createdAt,
      accountNumbers: wallet === undefined ? [held] : numbersOfWallet(held, wallet),
    };
    return exchange
      .send(transferStatus, services.transferStatus.path, sent, signal)
      .catch((error: unknown) => ({ kind: 'no_status', ...snapInquiryFailureOf(error, signal) }));
  };
}

/** They carry what is too much for other transfers, so a core knows that it orders one. */
const RTGS_AND_SKN: ReadonlySet<string> = new Set(['22', '23']);

/** The code of the service that ordered the transfer at this bank. */
function transferServiceOf({ bank, serviceCode }: StatusInquiry, settings: SnapSettings): string {
  if (serviceCode !== null && RTGS_AND_SKN.has(serviceCode)) return serviceCode;
  const { transferIntrabank, transferInterbank } = profileOf(settings).services;
  const isIntrabank = bank !== null && bank.bic === settings.ownBank;
  return ((isIntrabank ? transferIntrabank : null) ?? transferInterbank).code;
}

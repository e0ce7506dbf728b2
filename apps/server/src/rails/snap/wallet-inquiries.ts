import type { Bank } from '../../domain/bank.ts';
import { mobileNumber } from '../mobile-number.ts';
import { type AccountInquiry, type InquiryOutcome, NOT_SUPPORTED } from '../rail.ts';
import type { OutgoingAccountInquiry } from './account-inquiry.ts';
import { type CustomerInquiry, createCustomerInquiry } from './customer-inquiry.ts';
import type { SnapExchange, SnapService } from './exchange.ts';
import type { SnapProfile } from './profiles/profile.ts';
import type { WalletRoutes } from './wallets.ts';

/** Inquiries about accounts of e-wallets, each over its route. */
export interface WalletInquiries {
  /** How many digits the number that is sent has more than the mobile number. */
  extraDigits(wallet: Bank): number;
  /** @throws NoReply, NoAccessToken, or the signal's reason */
  inquire(inquiry: AccountInquiry, signal: AbortSignal): Promise<InquiryOutcome>;
}

export function createWalletInquiries(
  profile: SnapProfile,
  routes: WalletRoutes = new Map(),
  exchange: SnapExchange,
  externalInquiry: SnapService<OutgoingAccountInquiry, InquiryOutcome>,
): WalletInquiries {
  const { path, code } = profile.services.accountInquiryExternal;
  const customerInquiries = new Map<string, SnapService<CustomerInquiry, InquiryOutcome>>();
  for (const [wallet, route] of routes) {
    if (route.service === '37') customerInquiries.set(wallet, createCustomerInquiry(profile, route));
  }

  return {
    extraDigits({ bic }) {
      const route = routes.get(bic);
      if (route?.service !== '16') return 0;
      return route.prefix.length + (route.mobile === 'international' ? 1 : 0);
    },
    async inquire({ bank, accountNumber }, signal) {
      const held = accountNumber.reveal();
      const customerInquiry = customerInquiries.get(bank.bic);
      const route = routes.get(bank.bic);
      if (route?.service === '37' && customerInquiry !== undefined) {
        return exchange.send(customerInquiry, route.path, { accountNumber: held }, signal);
      }
      if (route?.service !== '16') return NOT_SUPPORTED;
      const sent = {
        service: code,
        accountNumber: route.prefix + mobileNumber(held, route.mobile),
        bankCodeSent: route.bankCode.sent,
        bankCode: route.bankCode.echoed,
      };
      return exchange.send(externalInquiry, path, sent, signal);
    },
  };
}

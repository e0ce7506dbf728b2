import { startAvailabilityPublisher } from '../bank-availability/publisher.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';
import type { AppContext } from './app-context.ts';
import type { Store } from './store.ts';

/** Clients are told when a bank stops answering, and when it answers again. */
export function openBankAvailability(
  { options, onClose }: AppContext,
  { database }: Store,
  inquiries: AccountInquiries,
): void {
  const news = startAvailabilityPublisher({ database, inquiries, banks: options.banks, log: options.logging.log });
  onClose(news.close);
}

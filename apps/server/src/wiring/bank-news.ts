import { startBankNews } from '../bank-news/bank-news.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';
import type { Stage } from './parts.ts';
import type { Store } from './store.ts';

/** Clients are told when a bank stops answering, and when it answers again. */
export function openBankNews({ options, onClose }: Stage, { database }: Store, inquiries: AccountInquiries): void {
  const news = startBankNews({ database, inquiries, banks: options.banks, log: options.logging.log });
  onClose(news.close);
}

import { snapConforms } from './snap-banks.ts';

snapConforms('midtrans');

import { snapConforms } from './snap-banks.ts';

snapConforms('aspi');
snapConforms('bca');

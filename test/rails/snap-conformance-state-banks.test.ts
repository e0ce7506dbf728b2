import { snapConforms } from './snap-banks.ts';

snapConforms('bri');
snapConforms('mandiri');

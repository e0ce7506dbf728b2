import { testSnapConformance } from './snap-banks.ts';

testSnapConformance('midtrans');

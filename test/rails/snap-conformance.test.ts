import { testSnapConformance } from './snap-banks.ts';

testSnapConformance('aspi');
testSnapConformance('bca');

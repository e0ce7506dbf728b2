import { testSnapConformance } from './snap-banks.ts';

testSnapConformance('bri');
testSnapConformance('mandiri');

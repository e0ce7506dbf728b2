import type { Rail } from '../rails/rail.ts';
import type { Answers } from './answers.ts';
import type { Pace } from './pace.ts';

export type AskableRail = Rail & Required<Pick<Rail, 'inquireTransfer'>>;

/** A rail that can be asked about transfers, with what is kept for each. */
export interface AskedRail {
  readonly rail: AskableRail;
  readonly pace: Pace;
  readonly answers: Answers;
}

/** By the rail's name. */
export type AskedRails = ReadonlyMap<string, AskedRail>;

export const isAskable = (rail: Rail): rail is AskableRail => rail.inquireTransfer !== undefined;

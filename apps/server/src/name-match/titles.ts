/** Titles in front of Indonesian names, and sometimes behind them. They say who is addressed, not who it is. */

const list = (text: string): Set<string> => new Set(text.split(/\s+/));

const OF_MEN = list(`BAPAK BPK BP PAK BAPA TN TUAN MR SDR SAUDARA H HAJI KH KYAI KIAI DRS USTADZ USTAZ USTAD UST
  RADENMAS RM KRT KRMT KPH PDT PASTOR PASTUR ROMO BRIPKA`);
const OF_WOMEN = list(`IBU BU NY NYONYA NYI NN NONA MRS MS MISS HJ HAJJAH HAJAH HJH NYAI RR RA SDRI SAUDARI DRA
  USTADZAH USTAZAH SUSTER`);
const OF_ANYBODY = list(`R RD RADEN DR DRG DRH IR PROF PROFESOR DOKTER DOKTORANDUS INSINYUR APT NERS NS PNT GRAY
  KOLONEL KOL LETKOL LETNAN KAPTEN MAYOR BRIGJEN MAYJEN LETJEN IRJEN KOMBES AKBP AKP KOMPOL IPDA IPTU AIPTU AIPDA
  SERKA SERMA PELDA PELTU YTH`);

/** What follows Raden and is part of it. */
const AFTER_RADEN = list('AJENG AYU MAS RORO NGABEHI ARIA ARYA PANJI');
/** Titles that banks also put behind the name. Shorter ones are taken for initials there. */
const BEHIND = list('BAPAK BPK IBU HJ SDR SDRI TN NY NN DRS DRA IR PROF DRG DR HAJI HAJJAH KH');

export type Gender = 'man' | 'woman';

export interface Titles {
  readonly found: readonly string[];
  readonly gender: Gender | null;
}

const isTitle = (word: string): boolean => OF_ANYBODY.has(word) || OF_MEN.has(word) || OF_WOMEN.has(word);

/** Takes the titles off `words`, and leaves one word at least: somebody may be called nothing but a title's word. */
export function takeTitles(words: string[]): Titles {
  const found: string[] = [];
  while (words.length > 1 && isTitle(words[0] ?? '')) {
    const title = words.shift() ?? '';
    found.push(title);
    if ((title === 'RADEN' || title === 'RD') && words.length > 2 && AFTER_RADEN.has(words[0] ?? '')) words.shift();
  }
  while (words.length > 1 && BEHIND.has(words.at(-1) ?? '')) found.push(words.pop() ?? '');
  return { found, gender: genderOf(found) };
}

function genderOf(titles: readonly string[]): Gender | null {
  let gender: Gender | null = null;
  for (const title of titles) {
    if (OF_WOMEN.has(title)) return 'woman';
    if (OF_MEN.has(title)) gender = 'man';
  }
  return gender;
}

/**
 * Legal forms of companies and other bodies in Indonesia, abbreviated and spelled out. Names with two different forms
 * belong to two holders.
 */

export type CompanyForm =
  | 'PT'
  | 'CV'
  | 'UD'
  | 'PD'
  | 'PERUM'
  | 'YAYASAN'
  | 'KOPERASI'
  | 'FIRMA'
  | 'TOKO'
  | 'PERKUMPULAN';

const FORMS: ReadonlyMap<string, CompanyForm> = new Map([
  ['PT', 'PT'],
  ['PERSEROAN TERBATAS', 'PT'],
  ['CV', 'CV'],
  ['COMMANDITAIRE VENNOOTSCHAP', 'CV'],
  ['PERSEKUTUAN KOMANDITER', 'CV'],
  ['UD', 'UD'],
  ['USAHA DAGANG', 'UD'],
  ['PD', 'PD'],
  ['PERUSAHAAN DAERAH', 'PD'],
  ['PERUSAHAAN DAGANG', 'PD'],
  ['PERUM', 'PERUM'],
  ['PERUSAHAAN UMUM', 'PERUM'],
  ['YAYASAN', 'YAYASAN'],
  ['YAY', 'YAYASAN'],
  ['YYS', 'YAYASAN'],
  ['KOPERASI', 'KOPERASI'],
  ['KOP', 'KOPERASI'],
  ['FIRMA', 'FIRMA'],
  ['FA', 'FIRMA'],
  ['TOKO', 'TOKO'],
  ['PERKUMPULAN', 'PERKUMPULAN'],
]);
const FIRST_WORDS_OF_PAIRS = new Set(
  [...FORMS.keys()].filter((form) => form.includes(' ')).map((form) => form.split(' ', 1)[0]),
);
const TRAILING_FORMS = new Set(['PT', 'CV', 'UD', 'YAYASAN', 'KOPERASI']);
/** Additions to the form of a PT: publicly listed, state-owned. With or without them it is the same company. */
const ADDITIONS = new Set(['TBK', 'PERSERO', 'PERSEROAN', 'TERBUKA']);

/** Words that occur only in names of companies and other bodies, and that are part of the name. */
const BODY_WORDS = new Set(
  `SD SMP SMA SMK MTS TPA TPQ PAUD NEGERI MASJID MUSHOLA MUSHOLLA GEREJA VIHARA PURA APOTEK KLINIK RS RSUD RSIA
  PUSKESMAS SPBU BANK PANITIA DINAS BUMDES BPR BPRS UNIVERSITAS UNIV SEKOLAH STIKES PONDOK PESANTREN WARUNG HOTEL
  RESTORAN BENGKEL KELOMPOK ORGANISASI PERSATUAN IKATAN HIMPUNAN KANTOR`.split(/\s+/),
);

const EXPANSIONS: ReadonlyMap<string, readonly string[]> = new Map([
  ['KSP', ['KOPERASI', 'SIMPAN', 'PINJAM']],
  ['KSU', ['KOPERASI', 'SERBA', 'USAHA']],
  ['KUD', ['KOPERASI', 'UNIT', 'DESA']],
  ['KOPKAR', ['KOPERASI', 'KARYAWAN']],
  ['SDN', ['SD', 'NEGERI']],
  ['SMPN', ['SMP', 'NEGERI']],
  ['SMAN', ['SMA', 'NEGERI']],
  ['SMKN', ['SMK', 'NEGERI']],
]);

const BRANCH_WORDS = new Set(['CABANG', 'CAB', 'CBG', 'KCP', 'KC']);

/** Whether the word is one that may be written with dots: `P.T.`, `C.V.`. */
export const isForm = (word: string): boolean => FORMS.has(word) || ADDITIONS.has(word);

export interface Company {
  readonly form: CompanyForm | null;
  /** The words from which the form was read, their position, and the additions. */
  readonly formText: string;
  readonly branch: readonly string[];
  readonly expanded: boolean;
}

/** Removes form, additions and branch from `words`. Returns null if nothing indicates a company or other body. */
export function takeCompany(words: string[]): Company | null {
  const expanded = expand(words);
  const additions = takeAdditions(words);
  const leading = takeLeadingForm(words);
  const hasTrailing = leading === null && words.length > 1 && TRAILING_FORMS.has(words.at(-1) ?? '');
  const formText = hasTrailing ? (words.pop() ?? '') : leading;
  const form = formText === null ? (additions === '' ? null : 'PT') : (FORMS.get(formText) ?? null);
  if (form === null && !expanded && !words.some((word) => BODY_WORDS.has(word))) return null;
  const position = leading === null ? 'trailing' : '';
  return { form, formText: `${formText}${position}${additions}`, branch: takeBranch(words), expanded };
}

function takeLeadingForm(words: string[]): string | null {
  const [first = '', second = ''] = words;
  const pair = words.length > 2 && FIRST_WORDS_OF_PAIRS.has(first) ? `${first} ${second}` : '';
  if (FORMS.has(pair)) {
    words.splice(0, 2);
    return pair;
  }
  if (words.length > 1 && FORMS.has(first)) {
    words.shift();
    return first;
  }
  return null;
}

/** A leading `PERSEROAN TERBATAS` is the form itself, not an addition, so the first word stays. */
function takeAdditions(words: string[]): string {
  let found = '';
  for (let index = words.length - 1; index > 0; index--) {
    const word = words[index] ?? '';
    if (!ADDITIONS.has(word)) continue;
    found = `${word} ${found}`;
    words.splice(index, 1);
  }
  return found;
}

function expand(words: string[]): boolean {
  let expanded = false;
  for (let index = 0; index < words.length; index++) {
    const expansion = EXPANSIONS.get(words[index] ?? '');
    if (expansion === undefined) continue;
    words.splice(index, 1, ...expansion);
    expanded = true;
  }
  return expanded;
}

function takeBranch(words: string[]): string[] {
  const at = words.findIndex((word, index) => index > 0 && BRANCH_WORDS.has(word));
  if (at === -1) return [];
  const [, ...branch] = words.splice(at);
  return branch;
}

const NUMBERS = new Set(
  `II III IV VI VII VIII IX XI XII SATU DUA TIGA EMPAT LIMA ENAM TUJUH DELAPAN SEMBILAN SEPULUH`.split(/\s+/),
);
export const isNumberWord = (word: string): boolean => NUMBERS.has(word);

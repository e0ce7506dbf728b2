/** Forms of companies and other bodies in Indonesia, short and spelled out. Two forms are two holders. */

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
const PAIRS_BEGIN = new Set(
  [...FORMS.keys()].filter((form) => form.includes(' ')).map((form) => form.split(' ', 1)[0]),
);
const BEHIND = new Set(['PT', 'CV', 'UD', 'YAYASAN', 'KOPERASI']);
/** Said of a PT besides its form: publicly listed, owned by the state. It stays the same company. */
const ADDITIONS = new Set(['TBK', 'PERSERO', 'PERSEROAN', 'TERBUKA']);

/** Words that only bodies have, and that belong to their names. */
const BODIES = new Set(
  `SD SMP SMA SMK MTS TPA TPQ PAUD NEGERI MASJID MUSHOLA MUSHOLLA GEREJA VIHARA PURA APOTEK KLINIK RS RSUD RSIA PUSKESMAS
  SPBU BANK PANITIA DINAS BUMDES BPR BPRS UNIVERSITAS UNIV SEKOLAH STIKES PONDOK PESANTREN WARUNG HOTEL
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

const BRANCH = new Set(['CABANG', 'CAB', 'CBG', 'KCP', 'KC']);

/** Abbreviations that are written with dots and are one word: `P.T.`, `C.V.`. */
export const isForm = (word: string): boolean => FORMS.has(word) || ADDITIONS.has(word);

export interface Company {
  readonly form: CompanyForm | null;
  /** The words that gave the form, and what was left out beside it. */
  readonly formText: string;
  readonly branch: readonly string[];
  readonly expanded: boolean;
}

/** Takes form, additions and branch off `words`; null where nothing speaks of a company or body. */
export function takeCompany(words: string[]): Company | null {
  const expanded = expand(words);
  const additions = takeAdditions(words);
  const front = takeFront(words);
  const behind = front === null && words.length > 1 && BEHIND.has(words.at(-1) ?? '') ? (words.pop() ?? '') : null;
  const formText = front ?? behind;
  const form = formText === null ? (additions === '' ? null : 'PT') : (FORMS.get(formText) ?? null);
  if (form === null && !expanded && !words.some((word) => BODIES.has(word))) return null;
  const side = front === null ? 'behind' : '';
  return { form, formText: `${formText}${side}${additions}`, branch: takeBranch(words), expanded };
}

function takeFront(words: string[]): string | null {
  const [first = '', second = ''] = words;
  const pair = words.length > 2 && PAIRS_BEGIN.has(first) ? `${first} ${second}` : '';
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

/** `PERSEROAN TERBATAS` in front is the form itself, not an addition. */
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
  const at = words.findIndex((word, index) => index > 0 && BRANCH.has(word));
  if (at === -1) return [];
  const [, ...branch] = words.splice(at);
  return branch;
}

const NUMBERS = new Set(
  `II III IV VI VII VIII IX XI XII SATU DUA TIGA EMPAT LIMA ENAM TUJUH DELAPAN SEMBILAN SEPULUH`.split(/\s+/),
);
export const isNumberWord = (word: string): boolean => NUMBERS.has(word);

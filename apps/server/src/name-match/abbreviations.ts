import { spellingKey } from './spelling.ts';

/** Common abbreviations of Indonesian given names: abbreviation and spelling key to the name. */
const ABBREVIATIONS: ReadonlyMap<string, string> = new Map(
  [
    ['MUHAMMAD', 'M MUH MOH MOCH MUCH MHD MUHD MOHD MOKH MD MHMD MUHAM MOHAM MCH'],
    ['AHMAD', 'AKH ACH AHM ACHM AKHM'],
    ['ABDUL', 'ABD ABDL AB'],
    ['SITI', 'ST STI'],
    ['GUSTI', 'GST GUST'],
    ['NYOMAN', 'NYM NYMN'],
    ['WAYAN', 'WYN WY'],
    ['KETUT', 'KT KTT'],
    ['KOMANG', 'KMG KOM'],
    ['KADEK', 'KDK KD'],
    ['PUTU', 'PT PTU'],
    ['MADE', 'MD'],
    ['DEWA', 'DW'],
    ['NGURAH', 'NGR'],
    ['BAGUS', 'BGS'],
    ['AGUNG', 'AGG'],
    ['TUBAGUS', 'TB TBG'],
    ['TEUKU', 'T TKU'],
    ['TENGKU', 'TG TENG'],
    ['SUTAN', 'SUT'],
    ['DAENG', 'DG'],
    ['NUR', 'NR'],
    ['SYARIF', 'SY'],
    ['YOHANES', 'YOH'],
    ['FRANSISKUS', 'FRANS'],
    ['MARIA', 'MR'],
  ].flatMap(([name = '', shorts = '']) => shorts.split(' ').map((short) => [`${short} ${spellingKey(name)}`, name])),
);

/** Whether `short` is a common abbreviation of the name with this spelling key. */
export const abbreviates = (short: string, key: string): boolean =>
  short.length <= 5 && ABBREVIATIONS.has(`${short} ${key}`);

/** Whether `short` consists of the first letters of two words: FX for Fransiskus Xaverius. */
export const isInitialsOf = (short: string, first: string, second: string): boolean =>
  short.length === 2 &&
  first.length > 1 &&
  second.length > 1 &&
  short.charAt(0) === first.charAt(0) &&
  short.charAt(1) === second.charAt(0);

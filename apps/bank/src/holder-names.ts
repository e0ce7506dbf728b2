// The bank prints holders in capitals, in at most 24 characters (BCA, account inquiry): keep both lists short enough.

// biome-ignore format: a list of words reads best as a paragraph
const FIRST_NAMES = [
  'ADI', 'AGUS', 'ANDI', 'ANISA', 'ARIF', 'BAMBANG', 'BUDI', 'CITRA', 'DEDI', 'DEWI',
  'DIAN', 'EKA', 'ENDANG', 'FAJAR', 'FITRI', 'GALIH', 'HENDRA', 'INDAH', 'IRFAN', 'JOKO',
  'KARTIKA', 'LESTARI', 'LUKMAN', 'MEGA', 'MUHAMMAD', 'NINGSIH', 'NOVITA', 'NUR', 'PUTRI', 'RATNA',
  'RINA', 'RIZKI', 'SITI', 'SLAMET', 'SRI', 'TEGUH', 'TRI', 'WAHYU', 'YOHANES', 'YULIA',
];

// biome-ignore format: a list of words reads best as a paragraph
const LAST_NAMES = [
  'ANGGRAINI', 'ARDIANSYAH', 'BASUKI', 'DAMANIK', 'FIRMANSYAH', 'GINTING', 'GUNAWAN', 'HALIM', 'HANDAYANI', 'HARAHAP',
  'HARTONO', 'HIDAYAT', 'IRAWAN', 'KURNIAWAN', 'KUSUMA', 'LUBIS', 'MAHENDRA', 'MAULANA', 'NASUTION', 'NUGROHO',
  'PANGESTU', 'PERMATA', 'PRASETYO', 'PRATAMA', 'PURNOMO', 'RAHAYU', 'RAMADHAN', 'SANTOSO', 'SAPUTRA', 'SETIAWAN',
  'SIMANJUNTAK', 'SIREGAR', 'SUHARTO', 'SURYADI', 'SUSANTI', 'SUTRISNO', 'TANJUNG', 'UTAMI', 'WIBOWO', 'WIJAYA',
];

/** The same invented person for the same number, on every machine and in every version. */
export function holderNameOf(accountNo: string): string {
  const number = fnv1a(accountNo);
  const first = FIRST_NAMES[number % FIRST_NAMES.length];
  const last = LAST_NAMES[Math.floor(number / FIRST_NAMES.length) % LAST_NAMES.length];
  return `${first} ${last}`;
}

/** FNV-1a in 32 bits: neighbouring account numbers get unrelated names. */
function fnv1a(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  }
  return value >>> 0;
}

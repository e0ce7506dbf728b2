/**
 * What went wrong and what to do, in the console's own words: the operator API answers in English only. `{seconds}` is
 * when to try again. Pure.
 */

interface Text {
  readonly en: string;
  readonly id: string;
}

/** By error code, where the words for its HTTP status would mislead. */
const BY_CODE: ReadonlyMap<string, Text> = new Map<string, Text>([
  [
    'ENDPOINT_NOT_FOUND',
    {
      en: 'The client has no such endpoint, or none that is enabled. Look at its endpoints.',
      id: 'Klien tidak punya endpoint itu, atau tidak ada yang aktif. Lihat endpoint-nya.',
    },
  ],
  [
    'ENDPOINT_LIMIT_REACHED',
    {
      en: 'The client has as many endpoints as it may. Change one that it has.',
      id: 'Jumlah endpoint klien sudah paling banyak. Ubah salah satu yang ada.',
    },
  ],
  [
    'ENDPOINT_DISABLED',
    { en: 'The endpoint is disabled. Enable it first.', id: 'Endpoint sedang nonaktif. Aktifkan dahulu.' },
  ],
  [
    'CLIENT_CONFLICT',
    {
      en: 'The client does not allow this: an ID is in use, or it has too many or too few secrets or keys.',
      id: 'Keadaan klien tidak mengizinkan: ID sudah dipakai, atau secret atau kuncinya terlalu banyak atau sedikit.',
    },
  ],
  [
    'PROPOSAL_CONFLICT',
    {
      en: 'The proposal cannot be decided like this: it is yours, decided, expired or outdated. Look at it again.',
      id: 'Usulan tidak bisa diputuskan: milik Anda, sudah diputuskan, kedaluwarsa, atau usang. Lihat lagi.',
    },
  ],
  [
    'IDEMPOTENCY_KEY_REUSED',
    { en: 'Another replay was started with this key. Count again.', id: 'Kunci ini sudah dipakai. Hitung lagi.' },
  ],
]);

const BY_STATUS: ReadonlyMap<number, Text> = new Map<number, Text>([
  [
    0,
    {
      en: 'The service did not answer. Check your connection, then try again.',
      id: 'Layanan tidak menjawab. Periksa koneksi Anda, lalu coba lagi.',
    },
  ],
  [401, { en: 'Your login has ended. Log in again.', id: 'Sesi Anda berakhir. Silakan masuk lagi.' }],
  [
    403,
    {
      en: 'Your role does not allow this. Ask a colleague who has the role, or who grants roles.',
      id: 'Peran Anda tidak mengizinkan ini. Minta bantuan rekan yang memiliki peran itu, atau pemberi peran.',
    },
  ],
  [
    404,
    {
      en: 'It is not there. Check the address, or search for it.',
      id: 'Tidak ditemukan. Periksa alamatnya, atau cari.',
    },
  ],
  [409, { en: 'Something else has changed it meanwhile. Look at it again.', id: 'Data sudah berubah. Lihat lagi.' }],
  [
    429,
    {
      en: 'Too many requests. Wait {seconds} s, then try again.',
      id: 'Terlalu banyak permintaan. Tunggu {seconds} d.',
    },
  ],
  [
    503,
    {
      en: 'The service cannot answer at the moment. Nothing was changed. Try again in {seconds} s.',
      id: 'Layanan sedang tidak bisa menjawab. Tidak ada yang berubah. Coba lagi dalam {seconds} d.',
    },
  ],
]);

const WRONG: Text = { en: 'Correct the request as the message says.', id: 'Perbaiki permintaan sesuai pesan ini.' };
const BROKEN: Text = {
  en: 'This is a fault of the service. Give the request ID to an engineer.',
  id: 'Ini kesalahan layanan. Berikan ID permintaan ini kepada engineer.',
};

export const CODES_WITH_ADVICE: readonly string[] = [...BY_CODE.keys()];

/** `status` is 0 where there was no answer. */
export const adviceFor = (status: number, code: string | null): Text =>
  BY_CODE.get(code ?? '') ?? BY_STATUS.get(status) ?? (status < 500 ? WRONG : BROKEN);

/** What operators did, in words. Pure. */

interface Text {
  readonly en: string;
  readonly id: string;
}

/** As the service names them: those of its API, of its commands (`npm run manage`) and of itself. */
const ACTIONS = new Map(
  (
    [
      ['transaction unmask', 'Account number shown', 'Nomor rekening ditampilkan'],
      ['transaction inquire', 'Bank asked', 'Bank ditanya'],
      ['review resolve', 'Review ended', 'Peninjauan diakhiri'],
      ['delivery resend', 'Callback sent again', 'Callback dikirim ulang'],
      ['callback replay', 'Replay started', 'Kirim ulang dimulai'],
      ['callback replay cancel', 'Replay stopped', 'Kirim ulang dihentikan'],
      ['session begin', 'Logged in', 'Masuk'],
      ['session end', 'Logged out', 'Keluar'],
      ['session revoke', 'Person logged out', 'Orang dikeluarkan'],
      ['client create', 'Client created', 'Klien dibuat'],
      ['client change', 'Client changed', 'Klien diubah'],
      ['client scopes', 'Scopes changed', 'Scope diubah'],
      ['client limits', 'Limits changed', 'Batas diubah'],
      ['client trust', 'Client trusted', 'Klien dipercaya'],
      ['client distrust', 'Client no longer trusted', 'Klien tidak lagi dipercaya'],
      ['client disable', 'Client disabled', 'Klien dinonaktifkan'],
      ['client enable', 'Client enabled', 'Klien diaktifkan'],
      ['client revoke-tokens', 'Tokens revoked', 'Token dicabut'],
      ['client add-secret', 'Secret added', 'Secret ditambahkan'],
      ['client new-secret', 'Secrets replaced', 'Secret diganti'],
      ['client retire-secret', 'Secret retired', 'Secret dihentikan'],
      ['client snap', 'SNAP changed', 'SNAP diubah'],
      ['client snap-key', 'SNAP key added', 'Kunci SNAP ditambahkan'],
      ['client snap-key remove', 'SNAP key removed', 'Kunci SNAP dihapus'],
      ['client snap-secret', 'SNAP secret replaced', 'Secret SNAP diganti'],
      ['client snap-end', 'SNAP ended', 'SNAP diakhiri'],
      ['endpoint register', 'Endpoint registered', 'Endpoint didaftarkan'],
      ['endpoint change', 'Endpoint changed', 'Endpoint diubah'],
      ['endpoint rotate-secret', 'Secret of the endpoint replaced', 'Secret endpoint diganti'],
      ['keys rotate', 'Signing key replaced', 'Kunci tanda tangan diganti'],
      ['proposal create', 'Change proposed', 'Perubahan diusulkan'],
      ['proposal approve', 'Proposal approved', 'Usulan disetujui'],
      ['proposal refuse', 'Proposal refused', 'Usulan ditolak'],
      ['proposal withdraw', 'Proposal withdrawn', 'Usulan ditarik'],
      ['proposal outdated', 'Proposal outdated', 'Usulan usang'],
      ['person export', 'Data of a person exported', 'Data orang diekspor'],
      ['person erase', 'Erasing a person begun', 'Penghapusan data orang dimulai'],
      ['person erased', 'Data of a person erased', 'Data orang dihapus'],
      ['archive restore', 'Restoring the archive begun', 'Pemulihan arsip dimulai'],
      ['archive restored', 'Archive restored', 'Arsip dipulihkan'],
      ['archive adopt', 'Archive file adopted', 'Berkas arsip diakui'],
      ['archive release', 'Restored data released', 'Data pulihan dilepas'],
      ['archive end', 'Archive ended', 'Arsip diakhiri'],
    ] as const
  ).map(([action, en, id]): [string, Text] => [action, { en, id }]),
);

export const KNOWN_ACTIONS: readonly string[] = [...ACTIONS.keys()];

const WITHOUT_APPROVAL = ' (without approval)';

/** An action that is new in the service appears as it is named there. */
export function actionText(action: string): Text {
  const text = ACTIONS.get(action.replace(WITHOUT_APPROVAL, ''));
  if (text === undefined) return { en: action, id: action };
  if (!action.endsWith(WITHOUT_APPROVAL)) return text;
  return { en: text.en + WITHOUT_APPROVAL, id: `${text.id} (tanpa persetujuan)` };
}

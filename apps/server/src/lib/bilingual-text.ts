/** The languages in which the API answers (docs/contract.md 2.6). */
export type Language = 'en' | 'id';

/**
 * A text for clients. Both languages stand where the text is made, so that they change together. Write Indonesian as a
 * payment company's support would: address the reader as Anda, and keep the names of fields, headers and codes.
 */
export interface BilingualText {
  /** English. */
  readonly en: string;
  /** Indonesian (bahasa Indonesia). */
  readonly id: string;
}

/**
 * For the operator's listener (docs/operating.md) and for SNAP, which answer in English only. No client of the JSON
 * operations sees such a text.
 */
export const englishOnly = (text: string): BilingualText => ({ en: text, id: text });

/** The text, with the same addition in both languages: a name, a number or a symbol. */
export const followedBy = ({ en, id }: BilingualText, more: BilingualText): BilingualText => ({
  en: en + more.en,
  id: id + more.id,
});

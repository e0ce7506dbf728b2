/**
 * The reasons for the result of a name match. Programs read the codes, people read the sentences. docs/name-match.md
 * has the same table. The codes are published: add codes, but do not rename any.
 */
export const NAME_MATCH_REASONS = {
  EXACT: 'The names are the same, apart from case, accents, punctuation and spaces at the ends.',
  SPACING: 'The same letters are divided into words differently.',
  TITLE_IGNORED: 'A title such as Bapak, Hj. or Ir. stands in one name only and was left out.',
  TITLE_DIFFERS:
    'The titles speak of a man in one name and of a woman in the other, or say different things of one word.',
  DEGREE_IGNORED: 'An academic degree such as S.H. or M.Kom stands in one name only and was left out.',
  COMPANY_FORM_IGNORED:
    'The form of company is written or placed differently but is the same, or Tbk or Persero was left out.',
  COMPANY_FORM_MISSING: 'Only one of the names says what form of company it is: it may be a person or another firm.',
  COMPANY_FORM_DIFFERS: 'The names are of different forms of company, such as PT and CV: different holders.',
  SPELLING_VARIANT: 'A word is spelled in another way that is read the same, such as Soeharto and Suharto.',
  SIMILAR_SPELLING: 'A word is spelled in a way that some people use for the same name and others for another one.',
  ABBREVIATED: 'A word is given by its usual abbreviation, such as Moh. for Mohammad.',
  INITIAL: 'A word is given by its first letter, or several by theirs, which fit others as well.',
  WORD_MISSING: 'A word stands in one name only.',
  WORD_ORDER: 'The words come in another order.',
  TYPO: 'A word differs by what looks like a slip in typing.',
  DIFFERENT_WORD: 'A word is another one.',
  NUMBER_DIFFERS: 'A number is another one or stands in one name only.',
  BRANCH_DIFFERS: 'The names are of different branches, or only one of them names a branch.',
  CUT_OFF: 'The bank shows only the beginning of the name, as far as can be seen.',
  MASKED: 'Letters are hidden, and only those that can be seen were compared.',
  SINGLE_NAME: 'One of the names is a single word, which many people share: little short of equality counts.',
  JOINT_ACCOUNT: 'The account names several parties, and one of them was compared.',
  DECEASED: 'One of the names is marked as that of a person who has died, or of heirs.',
  TOO_LONG: 'A name is longer than 140 characters, and only its beginning was compared.',
  TOO_SHORT: 'Too little of a name can be seen to compare it, such as initials only.',
  EMPTY: 'A name holds no letters or digits.',
  OTHER_SCRIPT: 'The names are written in different scripts.',
  NO_NAME: 'The bank tells no name, because the account is not active.',
} as const;

export type NameMatchReason = keyof typeof NAME_MATCH_REASONS;

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { matchNames } from '../../apps/server/src/name-match/name-match.ts';
import { NAME_MATCH_REASONS } from '../../apps/server/src/name-match/reasons.ts';

/** Each line: the expected name, the name at the bank, the result, and reasons that must be among those returned. */
type Line = readonly [expected: string, held: string, result: string, reasons?: string];

function holds(...lines: readonly Line[]): () => void {
  return () => {
    for (const [expected, held, result, reasons = ''] of lines) {
      const match = matchNames(expected, held);
      const context = `${expected} / ${held}: ${match.result} ${match.reasons.join(' ')}`;
      assert.equal(match.result, result, context);
      const reported: readonly string[] = match.reasons;
      for (const reason of reasons.split(' ').filter((code) => code !== ''))
        assert.ok(reported.includes(reason), context);
    }
  };
}

suite('the same name, written differently, is a MATCH', () => {
  test(
    'titles before and after the name are ignored',
    holds(
      ['Bpk. H. Drs. Mulyadi Tanjung', 'MULYADI TANJUNG', 'MATCH', 'TITLE_IGNORED'],
      ['Rosmawati Harahap', 'HJ ROSMAWATI HARAHAP', 'MATCH', 'TITLE_IGNORED'],
      ['Raden Ajeng Suprapti Handayani', 'SUPRAPTI HANDAYANI', 'MATCH'],
      ['Yuni Astuti', 'YUNI ASTUTI SDRI', 'MATCH', 'TITLE_IGNORED'],
    ),
  );
  test(
    'degrees are ignored, with dots, without them and in two halves',
    holds(
      ['Rina Marlina, S.E., M.M.', 'RINA MARLINA', 'MATCH', 'DEGREE_IGNORED'],
      ['Grace Pangaribuan, Sp.PD', 'GRACE PANGARIBUAN SPPD', 'MATCH', 'EXACT'],
      ['Nanda Pratiwi S. Kom', 'NANDA PRATIWI', 'MATCH', 'DEGREE_IGNORED'],
    ),
  );
  test(
    'a company form may precede or follow the name, be spelled out, or have Tbk added',
    holds(
      ['PT Cipta Karya', 'CIPTA KARYA, PT', 'MATCH', 'COMPANY_FORM_IGNORED'],
      ['Perseroan Terbatas Karya Nusantara', 'P.T. KARYA NUSANTARA', 'MATCH', 'COMPANY_FORM_IGNORED'],
      ['PT Waskita Karya (Persero) Tbk', 'PT WASKITA KARYA', 'MATCH', 'COMPANY_FORM_IGNORED'],
      ['SMA Negeri 1 Medan', 'SMAN 1 MEDAN', 'MATCH', 'ABBREVIATED'],
    ),
  );
  test(
    'common abbreviations match their names if there is also a full word',
    holds(
      ['M. Rizky', 'MUHAMMAD RIZKY', 'MATCH', 'ABBREVIATED'],
      ['Abd. Rahman Saleh', 'ABDUL RAHMAN SALEH', 'MATCH', 'ABBREVIATED'],
      ['I Gst Ngurah Rai', 'I GUSTI NGURAH RAI', 'MATCH', 'ABBREVIATED'],
    ),
  );
  test(
    'the old spelling matches the new one',
    holds(
      ['Cipto Mangunkusumo', 'TJIPTO MANGOENKOESOEMO', 'MATCH', 'SPELLING_VARIANT'],
      ['Wijaya Kusuma', 'WIDJAJA KOESOEMA', 'MATCH', 'SPELLING_VARIANT'],
      ['Hasyim Basri', 'HASJIM BASRI', 'MATCH', 'SPELLING_VARIANT'],
    ),
  );
  test(
    'names that are spelled by ear match by pronunciation',
    holds(
      ['Mohamad Syaiful', 'MUHAMMAD SAEFUL', 'MATCH', 'SPELLING_VARIANT'],
      ['Akhmad Chaerul', 'AHMAD KHAIRUL', 'MATCH', 'SPELLING_VARIANT'],
      ['Siti Fatimah', 'SITI FATIMA', 'MATCH', 'SPELLING_VARIANT'],
      ['Eddy Christianto', 'EDI KRISTIANTO', 'MATCH', 'SPELLING_VARIANT'],
      ['Sophia Latjuba', 'SOFIA LACUBA', 'MATCH', 'SPELLING_VARIANT'],
      ['Agus Setiawan', 'AGUS SETYAWAN', 'MATCH', 'SPELLING_VARIANT'],
    ),
  );
  test(
    'words may be joined or divided',
    holds(
      ['Siti Nurhaliza', 'SITINURHALIZA', 'MATCH', 'SPACING'],
      ['Nur Hidayati Lubis', 'NURHIDAYATI LUBIS', 'MATCH', 'SPACING'],
      ['Abdurrahman Saleh', 'ABDUL RAHMAN SALEH', 'MATCH'],
    ),
  );
  test(
    'accents, apostrophes, width and punctuation are ignored',
    holds(
      ['José Da Costa', 'JOSE DA-COSTA', 'MATCH', 'EXACT'],
      ["Ma'ruf Amin", 'MARUF AMIN', 'MATCH', 'EXACT'],
      ['Ｂｕｄｉ Santoso', '"budi"  santoso', 'MATCH', 'EXACT'],
    ),
  );
  test(
    'a name that a bank truncated within a word matches',
    holds(
      ['Muhammad Rizky Pratama Saputra', 'MUHAMMAD RIZKY PRATA', 'MATCH', 'CUT_OFF'],
      ['PT Indofood Sukses Makmur Tbk', 'PT INDOFOOD SUKSES MAKM', 'MATCH', 'CUT_OFF'],
    ),
  );
});

suite('names that may be the same are a CLOSE_MATCH', () => {
  test(
    'a missing word, with two that are present',
    holds(
      ['Siti Nurhaliza Tarudin', 'SITI NURHALIZA', 'CLOSE_MATCH', 'WORD_MISSING'],
      ['I Ketut Sukerta', 'KETUT SUKERTA', 'CLOSE_MATCH', 'WORD_MISSING'],
    ),
  );
  test(
    'another word order, an initial, a typo',
    holds(
      ['Budi Santoso', 'SANTOSO BUDI', 'CLOSE_MATCH', 'WORD_ORDER'],
      ['Michael R. Sinaga', 'MICHAEL RICHARD SINAGA', 'CLOSE_MATCH', 'INITIAL'],
      ['H. Gunawan', 'HENDRA GUNAWAN', 'CLOSE_MATCH', 'INITIAL'],
      ['PT BCA', 'PT BANK CENTRAL ASIA', 'CLOSE_MATCH', 'INITIAL'],
      ['Wahyu Purnomosidi', 'WAHYU PURNOMSIDI', 'CLOSE_MATCH', 'TYPO'],
    ),
  );
  test(
    'a spelling that different names share',
    holds(
      ['Yusuf Bakri', 'JUSUF BAKRI', 'CLOSE_MATCH', 'SIMILAR_SPELLING'],
      ['Azis Rahman', 'AZIZ ROHMAN', 'CLOSE_MATCH', 'SIMILAR_SPELLING'],
    ),
  );
  test(
    'a company form in only one of the names',
    holds(['PT Maju Jaya', 'MAJU JAYA', 'CLOSE_MATCH', 'COMPANY_FORM_MISSING']),
  );
  test(
    'masked letters, if all visible ones match',
    holds(
      ['John Doe', 'JO** D**', 'CLOSE_MATCH', 'MASKED'],
      ['Dewi Lestari', 'DEXX LEXXXXX', 'CLOSE_MATCH', 'MASKED'],
      ['Budi Santoso', 'B**********O', 'NOT_POSSIBLE', 'MASKED'],
      ['Budi Santoso', 'BUDI*******O', 'CLOSE_MATCH', 'MASKED'],
    ),
  );
  test(
    'a joint account, an account held for another party, a deceased person',
    holds(
      ['Budi Santoso', 'BUDI SANTOSO QQ RINA SANTOSO', 'CLOSE_MATCH', 'JOINT_ACCOUNT'],
      ['Lily Kurnia', 'HENRY KURNIA ATAU LILY KURNIA', 'CLOSE_MATCH', 'JOINT_ACCOUNT'],
      ['Budi Rina', 'BUDI QQ RINA', 'CLOSE_MATCH', 'JOINT_ACCOUNT'],
      ['Hasan Tiro', 'ALM HASAN TIRO', 'CLOSE_MATCH', 'DECEASED'],
    ),
  );
  test(
    'a truncated name that may have lost whole words, a gender or a number',
    holds(
      ['Sugeng Hadiprayitno Kusumo', 'SUGENG HADIPRAYITNO', 'CLOSE_MATCH', 'CUT_OFF'],
      ['Muhammad Rizky Putra', 'MUHAMMAD RIZKY PUT', 'NO_MATCH'],
      ['Muhammad Rizki Ananda Putra', 'MUHAMMAD RIZKI ANANDA PUT', 'CLOSE_MATCH', 'CUT_OFF'],
      ['PT Bangun Karya Sejahtera Abadi', 'PT BANGUN KARYA SEJAHT', 'CLOSE_MATCH', 'CUT_OFF'],
    ),
  );
  test(
    'a male title and a female title',
    holds(['Bpk Budi Santoso', 'IBU BUDI SANTOSO', 'CLOSE_MATCH', 'TITLE_DIFFERS']),
  );
});

suite('different holders with similar names are NO_MATCH', () => {
  test(
    'persons with slightly different names',
    holds(
      ['Budi Santoso', 'BUDI SUSANTO', 'NO_MATCH', 'DIFFERENT_WORD'],
      ['Dewi Lestari', 'DEWI LESTIANI', 'NO_MATCH', 'DIFFERENT_WORD'],
      ['Cecep Hermawan', 'CECEP HERNAWAN', 'NO_MATCH', 'DIFFERENT_WORD'],
    ),
  );
  test(
    'male and female forms of a name',
    holds(
      ['Aditya Pratama Putra', 'ADITYA PRATAMA PUTRI', 'NO_MATCH'],
      ['Agus Setiawan', 'AGUS SETYAWATI', 'NO_MATCH'],
      ['Nur Hidayat', 'NUR HIDAYATI', 'NO_MATCH'],
    ),
  );
  test(
    'fathers and sons',
    holds(
      ['Ali bin Hasan Alatas', 'HASAN BIN ALI ALATAS', 'NO_MATCH', 'WORD_ORDER'],
      ['Ahmad bin Abdullah', 'MUHAMMAD BIN ABDULLAH', 'NO_MATCH'],
    ),
  );
  test(
    'single names that are not nearly equal, and a single name and a longer one',
    holds(
      ['Andi', 'ADI', 'NO_MATCH'],
      ['Sumarno', 'SUMARSONO', 'NO_MATCH'],
      ['Siti', 'SITI AMINAH', 'NO_MATCH', 'SINGLE_NAME'],
    ),
  );
  test(
    'companies with another form, number, branch or word',
    holds(
      ['PT Maju Jaya', 'CV MAJU JAYA', 'NO_MATCH', 'COMPANY_FORM_DIFFERS'],
      ['PT Maju 1', 'PT MAJU 2', 'NO_MATCH', 'NUMBER_DIFFERS'],
      ['SMP Negeri 11', 'SMP NEGERI 1', 'NO_MATCH', 'NUMBER_DIFFERS'],
      ['PT Prima II', 'PT PRIMA III', 'NO_MATCH', 'NUMBER_DIFFERS'],
      ['PT Mitra Jaya Cabang Medan', 'PT MITRA JAYA CABANG BANDUNG', 'NO_MATCH', 'BRANCH_DIFFERS'],
      ['PT Sinar Mas', 'PT SINAR MAS AGRO', 'NO_MATCH', 'WORD_MISSING'],
      ['CV Mulia Karya', 'CV KARYA MULIA', 'NO_MATCH', 'WORD_ORDER'],
    ),
  );
  test(
    'a visible letter that differs',
    holds(
      ['John Doe', 'JA** D**', 'NO_MATCH', 'MASKED'],
      ['Hendra Wijaya', 'HEN**O WI***A', 'NO_MATCH', 'MASKED'],
      ['Eko Prasetyo', 'X*** P*******', 'NO_MATCH', 'MASKED'],
    ),
  );
});

suite('names that cannot be compared are NOT_POSSIBLE', () => {
  test(
    'an empty name, nothing visible, only initials, another script',
    holds(
      ['Budi', '', 'NOT_POSSIBLE', 'EMPTY'],
      ['Budi', ' .,- ', 'NOT_POSSIBLE', 'EMPTY'],
      ['Budi Santoso', '**** *******', 'NOT_POSSIBLE', 'MASKED'],
      ['Budi Santoso', 'B*** S******', 'NOT_POSSIBLE', 'TOO_SHORT'],
      ['A. B.', 'AGUS BUDIMAN', 'NOT_POSSIBLE', 'TOO_SHORT'],
      ['陳大文', 'TAN TAI BUN', 'NOT_POSSIBLE', 'OTHER_SCRIPT'],
    ),
  );
});

test('a name that a bank truncated is a MATCH, and another name with the same beginning is not', () => {
  const expected = 'Muhammad Rizky Pratama Saputra';
  assert.equal(matchNames(expected, 'MUHAMMAD RIZKY PRATA').result, 'MATCH');
  assert.equal(matchNames(expected, 'MUHAMMAD RIZKY PRASE').result, 'NO_MATCH');
});

test('each reason is a sentence under a code in capitals', () => {
  for (const [code, sentence] of Object.entries(NAME_MATCH_REASONS)) {
    assert.match(code, /^[A-Z]+(?:_[A-Z]+)*$/);
    assert.match(sentence, /^[A-Z][^|]+\.$/);
  }
});

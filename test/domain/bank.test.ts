import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  type Bank,
  bankCodeOf,
  bicOf,
  createBankDirectory,
  isInstitution,
  parseAccountNumber,
} from '../../apps/server/src/domain/bank.ts';
import entries from '../../apps/server/src/domain/banks.json' with { type: 'json' };

const directory = createBankDirectory(entries);
const isWallet = ({ unit }: Bank): boolean => unit === 'e_wallet';
const banks = directory.list().filter(isInstitution);
const wallets = directory.list().filter(isWallet);
const shariaUnits = banks.filter((bank) => bank.unit === 'sharia_unit');

const madeUpEntry = {
  clearing_code: '999',
  bic: 'MADEIDUP',
  name: 'Made Up Bank',
  short_names: ['MADE UP'],
  unit: 'conventional',
};

const abbreviations =
  'AG ANZ BCA BNP BTPN CIMB CTBC DBS DIY DKI HSBC IBK ICBC KB KEB MNC MUFG NISP NTB NTT OCBC QNB SBI SMBC UOB';

function bicFound(code: string): string | null {
  return directory.find(code)?.bic ?? null;
}

suite('finding a bank', () => {
  test('every clearing code finds its conventional or sharia bank', () => {
    for (const bank of banks) {
      if (bank.unit !== 'sharia_unit') assert.equal(directory.find(bankCodeOf(bank)), bank);
    }
  });

  test('a clearing code shared with a sharia unit means the conventional bank, for all 19 of them', () => {
    assert.equal(shariaUnits.length, 19);
    for (const unit of shariaUnits) {
      const found = directory.find(bankCodeOf(unit));
      assert.equal(found?.clearingCode, unit.clearingCode);
      assert.equal(found.unit, 'conventional');
      assert.ok(unit.name.startsWith(found.name), `${unit.name} is not a unit of ${found.name}`);
    }
  });

  test('the order of the entries does not decide which bank a shared clearing code means', () => {
    const reversed = createBankDirectory(entries.toReversed());
    for (const unit of shariaUnits) assert.equal(reversed.find(bankCodeOf(unit))?.unit, 'conventional');
  });

  test('every BIC finds its bank, also a sharia unit, with 8 and with 11 characters', () => {
    for (const bank of banks) {
      for (const branch of ['', 'XXX', '0A9']) assert.equal(directory.find(bank.bic + branch), bank);
    }
  });

  test('every short name finds its bank, alone and after "Bank "', () => {
    for (const bank of banks) {
      for (const shortName of bank.shortNames) {
        assert.equal(directory.find(shortName), bank);
        assert.equal(directory.find(`Bank ${shortName}`), bank);
      }
    }
  });

  test('letters may be in any case', () => {
    for (const code of ['bca', 'Bca', 'bAnK bCa', 'cenaidja', 'CenaIdjaXxx']) assert.equal(bicFound(code), 'CENAIDJA');
    assert.equal(bicFound('Danamon Syariah'), 'SYBDIDJ1');
  });

  test('letters outside ASCII match nothing, though upper-casing turns them into ASCII', () => {
    for (const code of ['mandırı', 'bßpidsp', 'bſi']) {
      assert.notEqual(directory.find(code.toUpperCase()), null, 'upper-casing must turn the example into a valid code');
      assert.equal(directory.find(code), null);
    }
    for (const code of ['ＢＣＡ', 'BCÁ', 'BАNK BCA', '٠١٤', '０１４']) assert.equal(directory.find(code), null);
  });

  test('nothing is trimmed', () => {
    for (const code of ['014', 'CENAIDJA', 'CENAIDJAXXX', 'BCA', 'BANK BCA']) {
      for (const extra of [' ', '\t', '\n', '\r', '\0', '\u00a0', '\u200b', '\ufeff']) {
        assert.equal(directory.find(code + extra), null);
        assert.equal(directory.find(extra + code), null);
      }
    }
  });

  test('only exact codes and names find a bank', () => {
    const nearCodes = ['', '14', '0014', '14.0', '999', 'CENAIDJ', 'CENAIDJAX', 'CENAIDJAXX', 'CENAIDJAXXXX'];
    const nearNames = ['BANK', 'BANK ', 'BANKBCA', 'BANK  BCA', 'BANK BANK BCA', 'BCA BANK', 'Bank Central Asia'];
    for (const code of [...nearCodes, ...nearNames]) {
      assert.equal(directory.find(code), null, `found a bank for "${code}"`);
    }
  });

  test('"Bank " may precede short names only', () => {
    for (const code of ['BANK 014', 'BANK CENAIDJA', 'BANK CENAIDJAXXX']) assert.equal(directory.find(code), null);
  });

  test('a branch is removed from BICs only, and only if it has three letters or digits', () => {
    for (const code of ['SINARMASXXX', 'CITIBANKXXX', 'CENAIDJA-XX', 'CENAIDJA   '])
      assert.equal(directory.find(code), null);
  });

  test('names of object properties find nothing', () => {
    for (const code of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length', 'get', 'size']) {
      assert.equal(directory.find(code), null);
    }
  });
});

suite('creating a directory', () => {
  test('a code that two banks claim is an error, whatever kind of code it is', () => {
    const rivals = [
      { clearing_code: '014' },
      { bic: 'CENAIDJA' },
      { short_names: ['BCA'] },
      { short_names: ['014'] },
      { short_names: ['CENAIDJA'] },
      { short_names: ['BANK BCA'] },
    ];
    for (const rival of rivals) {
      assert.throws(() => createBankDirectory([...entries, { ...madeUpEntry, ...rival }]), /claimed by both CENAIDJA/);
    }
  });

  test('an unknown unit is an error', () => {
    assert.throws(
      () => createBankDirectory([{ ...madeUpEntry, unit: 'islamic' }]),
      /MADEIDUP has the unknown unit islamic/,
    );
  });

  test('the list keeps the order of the entries', () => {
    assert.deepEqual(
      directory.list().map((bank) => bank.bic),
      entries.map((entry) => entry.bic),
    );
  });
});

suite('the directory of Indonesia', () => {
  const shortNames = banks.flatMap((bank) => bank.shortNames);

  test('holds 125 institutions under 106 clearing codes', () => {
    assert.equal(banks.length, 125);
    assert.equal(new Set(banks.map((bank) => bank.clearingCode)).size, 106);
  });

  test('codes, BICs and short names have the right form', () => {
    for (const bank of banks) {
      assert.match(bank.clearingCode ?? '', /^\d{3}$/);
      assert.match(bank.bic, /^[A-Z]{4}ID[A-Z0-9]{2}$/);
      assert.ok(bank.shortNames.length > 0, `${bank.name} has no short name`);
      for (const shortName of bank.shortNames) assert.match(shortName, /^[A-Z]+(?: [A-Z]+)*$/);
    }
  });

  test('BICs, short names and full names belong to one institution each', () => {
    assertDistinct(banks.map((bank) => bank.bic));
    assertDistinct(shortNames);
    assertDistinct(banks.map((bank) => bank.name.toUpperCase()));
  });

  test('no short name contains the word "BANK", which may precede any of them', () => {
    for (const shortName of shortNames) assert.ok(!shortName.split(' ').includes('BANK'), shortName);
  });

  test('no short name can be read as the BIC of another bank with a branch', () => {
    const bics = new Set(banks.map((bank) => bank.bic));
    for (const shortName of shortNames) assert.ok(!bics.has(shortName.slice(0, 8)), shortName);
  });

  test('a sharia unit is named for its bank, and nothing else is', () => {
    for (const bank of banks)
      assert.equal(bank.name.endsWith(' Unit Usaha Syariah'), bank.unit === 'sharia_unit', bank.name);
  });

  test('names contain no legal form, no stray punctuation and no double spaces', () => {
    for (const { name } of banks) {
      assert.doesNotMatch(name, /\btbk\b|^PT\b|\bUUS\b/i);
      assert.match(name, /^[A-Za-z0-9]+(?: (?:[A-Za-z0-9]+|\([A-Za-z ]+\)|N\.A\.))*$/);
    }
  });

  test('only known abbreviations are in capitals', () => {
    const inCapitals = banks.flatMap((bank) => bank.name.match(/\b[A-Z]{2,}\b/g) ?? []);
    assert.equal([...new Set(inCapitals)].toSorted().join(' '), abbreviations);
  });

  test('only a bank that publishes its account number length has one: BCA, 10 digits', () => {
    const withLength = banks.filter((bank) => 'accountNumberLength' in bank);
    assert.deepEqual(withLength.map(lengthOf), ['CENAIDJA 10']);
  });
});

function lengthOf(bank: Bank): string {
  return `${bank.bic} ${bank.accountNumberLength}`;
}

function assertDistinct(values: readonly string[]): void {
  const seen = new Set<string>();
  for (const value of values) {
    assert.ok(!seen.has(value), `${value} occurs twice`);
    seen.add(value);
  }
}

suite('e-wallets', () => {
  test('are found by their names in any case, and by no BIC or clearing code', () => {
    assert.deepEqual(wallets.map(bankCodeOf), ['GOPAY', 'DANA', 'OVO', 'SHOPEEPAY', 'LINKAJA', 'ISAKU']);
    assert.deepEqual(new Set(wallets.map(bicOf)), new Set([null]));
    for (const code of ['gopay', 'Dana', 'OVO', 'ShopeePay', 'shopee pay', 'LinkAja', 'i.saku']) {
      assert.equal(directory.find(code)?.unit, 'e_wallet', code);
    }
    for (const code of ['BANK GOPAY', 'GO PAY', 'GOPAY ', '911', 'SHOPEEPAYXX'])
      assert.equal(directory.find(code), null);
  });

  test('have mobile numbers, which are one account in each of their forms', () => {
    const [wallet] = wallets;
    assert.ok(wallet !== undefined);
    const held = (value: unknown): string | null => parseAccountNumber(wallet, value)?.reveal() ?? null;
    for (const sent of ['081234567890', '6281234567890', '+6281234567890']) assert.equal(held(sent), '081234567890');
    for (const sent of [
      '81234567890',
      '+081234567890',
      '++6281234567890',
      '0812 3456 7890',
      '0812-3456-7890',
      '0712345678',
      '0812345',
      '0812345678901234',
      '+6512345678',
      '062812345678',
      '٠٨١٢٣٤٥٦٧٨٩٠',
      ' 081234567890',
      '',
      81234567890,
      null,
    ]) {
      assert.equal(held(sent), null, String(sent));
    }
    assert.equal(String(parseAccountNumber(wallet, '+6281234567890')), '********7890');
  });
});

suite('aliases', () => {
  const aliases = directory.find('BI-FAST');
  const held = (value: unknown): string | null =>
    aliases === null ? null : (parseAccountNumber(aliases, value)?.reveal() ?? null);

  test('are found by the name of their directory, and by no BIC or clearing code', () => {
    assert.equal(directory.find('bifast'), aliases);
    assert.deepEqual([aliases && bankCodeOf(aliases), aliases && bicOf(aliases)], ['BIFAST', null]);
    for (const code of ['FASTIDJA', 'BANK BIFAST', 'BI FAST']) assert.equal(directory.find(code), null);
  });

  test('are mobile numbers, and e-mail addresses with letters in any case', () => {
    for (const sent of ['081234567890', '6281234567890', '+6281234567890']) assert.equal(held(sent), '081234567890');
    for (const sent of ['Budi.Santoso@Example.CO.ID', 'budi.santoso@example.co.id'])
      assert.equal(held(sent), 'budi.santoso@example.co.id');
    for (const sent of ['a@b.co', "o'neil+tag@x-y.example", '1@2.3', `${'a'.repeat(64)}@example.com`])
      assert.equal(held(sent), sent);
  });

  test('are nothing else', () => {
    for (const sent of [
      '1234567890',
      '@example.com',
      'budi@',
      'budi@example',
      'budi@@example.com',
      'budi@a@example.com',
      '.budi@example.com',
      'budi.@example.com',
      'bu..di@example.com',
      'budi@-example.com',
      'budi@example-.com',
      'budi@example..com',
      'budi@example.com.',
      'bu di@example.com',
      '"budi"@example.com',
      'budi@example.com\n',
      'büdi@example.com',
      'budi@exämple.com',
      'budı@example.com',
      `${'a'.repeat(65)}@example.com`,
      `a@${'b.'.repeat(126)}co`,
      '',
      1,
      null,
    ]) {
      assert.equal(held(sent), null, String(sent));
    }
    const started = performance.now();
    assert.equal(held(`${'a.'.repeat(100)}@${'a-'.repeat(20)}`), null);
    assert.equal(held(`a@${'a'.repeat(250)}`), null);
    assert.ok(performance.now() - started < 1_000, 'no input takes long');
  });

  test('print masked, a long one without its length', () => {
    const printed = (value: string): string => String(aliases && parseAccountNumber(aliases, value));
    assert.equal(printed('a@b.co'), '***.co');
    assert.equal(printed('budi@example.co.id'), '**************o.id');
    assert.equal(printed(`${'a'.repeat(60)}@example.com`), `${'*'.repeat(34)}.com`);
  });
});

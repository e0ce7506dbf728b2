import { type ZipEntry, zip } from './zip.ts';

/** A workbook (ECMA-376) that is assembled by hand: the content of `sheetData` and `sst`, and the parts around them. */
export interface WorkbookParts {
  readonly rows?: string;
  readonly sharedStrings?: string;
  /** Instead of the whole part. */
  readonly sheet?: string | Buffer;
  readonly sheetDeclaredSize?: number;
  /** Instead of one visible sheet. */
  readonly sheets?: string;
  readonly others?: readonly ZipEntry[];
}

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006/relationships';
const DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n';

export const HEADER_ROW =
  '<row r="1" spans="1:4"><c r="A1" t="inlineStr"><is><t>bank_code</t></is></c>' +
  '<c r="B1" t="inlineStr"><is><t>account_number</t></is></c></row>';

export const sheetOf = (rows: string): string =>
  `${DECLARATION}<worksheet xmlns="${MAIN}"><dimension ref="A1:D3"/>` +
  `<sheetViews><sheetView workbookViewId="0"/></sheetViews>` +
  `<sheetData>${rows}</sheetData><pageMargins left="0.7"/></worksheet>`;

const sharedStringsOf = (items: string): string =>
  `${DECLARATION}<sst xmlns="${MAIN}" count="3" uniqueCount="3">${items}</sst>`;

export function workbook({
  rows = '',
  sharedStrings,
  sheet,
  sheetDeclaredSize,
  sheets = '<sheet name="Sheet1" sheetId="1" r:id="rId1"/>',
  others = [],
}: WorkbookParts): Buffer {
  const relationship = (id: string, type: string, target: string): string =>
    `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`;
  const relationships = (all: string): string =>
    `${DECLARATION}<Relationships xmlns="${PACKAGE}">${all}</Relationships>`;
  return zip([
    { name: '[Content_Types].xml', data: `${DECLARATION}<Types/>` },
    { name: '_rels/.rels', data: relationships(relationship('rId1', 'officeDocument', 'xl/workbook.xml')) },
    {
      name: 'xl/workbook.xml',
      data: `${DECLARATION}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets>${sheets}</sheets></workbook>`,
    },
    {
      name: 'xl/_rels/workbook.xml.rels',
      data: relationships(
        relationship('rId1', 'worksheet', 'worksheets/sheet1.xml') +
          relationship('rId2', 'worksheet', '/xl/worksheets/sheet2.xml') +
          relationship('rId3', 'chartsheet', 'chartsheets/sheet1.xml') +
          relationship('rId4', 'sharedStrings', 'sharedStrings.xml'),
      ),
    },
    ...(sharedStrings === undefined ? [] : [{ name: 'xl/sharedStrings.xml', data: sharedStringsOf(sharedStrings) }]),
    {
      name: 'xl/worksheets/sheet1.xml',
      data: sheet ?? sheetOf(rows),
      ...(sheetDeclaredSize === undefined ? {} : { declaredSize: sheetDeclaredSize }),
    },
    ...others,
  ]);
}

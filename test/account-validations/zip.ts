import { crc32, deflateRawSync } from 'node:zlib';

/** A zip that is written by hand, so that it can contain what no library would write. */
export interface ZipEntry {
  readonly name: string;
  readonly data: Buffer | string;
  /** The size that the directory states; by default the real one. */
  readonly declaredSize?: number;
  /** Bit 0 marks the entry as encrypted. */
  readonly flags?: number;
}

/** APPNOTE.TXT of PKWARE, sections 4.3.7, 4.3.12 and 4.3.16. */
export function zip(entries: readonly ZipEntry[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, data, declaredSize, flags = 0 } of entries) {
    const bytes = Buffer.from(data);
    const deflated = deflateRawSync(bytes, { level: 1 });
    const fileName = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(flags, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(deflated.length, 14);
    common.writeUInt32LE(declaredSize ?? bytes.length, 18);
    common.writeUInt16LE(fileName.length, 22);
    const file = Buffer.concat([Buffer.from('PK\x03\x04'), common, fileName, deflated]);
    const location = Buffer.alloc(14);
    location.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), common, location, fileName]));
    files.push(file);
    offset += file.length;
  }
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...files, ...directory, end]);
}

import { buffer } from 'node:stream/consumers';
import { readUpload } from './read-upload.ts';
import { linesOf } from './reader-protocol.ts';
import type { UploadMediaType } from './upload.ts';

/** A process of its own that reads one upload: the body comes on stdin, what it came to goes out on stdout. */

const result = await readUpload(process.argv[2] as UploadMediaType, await buffer(process.stdin));
for (const line of linesOf(result)) process.stdout.write(line);

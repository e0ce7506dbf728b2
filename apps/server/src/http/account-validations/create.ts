import { createHash, randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { Type } from 'typebox';
import { type NewValidationJob, storeValidation } from '../../account-validations/store.ts';
import { validationToJson } from '../../account-validations/to-json.ts';
import {
  UPLOAD_BYTES_MAX,
  UPLOAD_MEDIA_TYPES,
  UPLOAD_ROWS_MAX,
  type UploadMediaType,
} from '../../account-validations/uploads/upload.ts';
import type { Client } from '../../auth/clients.ts';
import {
  type AccountValidation,
  countStored,
  findByIdempotencyKey,
  findValidation,
  type StoredCounts,
} from '../../postgres/account-validations.ts';
import { callerOf } from '../authorize.ts';
import { ENVELOPE_HEADERS, success } from '../envelope.ts';
import { ApiError } from '../errors.ts';
import { unsupportedMediaType } from '../request-body.ts';
import { errorResponses, successResponse } from '../schemas.ts';
import type { AccountValidationDependencies } from './dependencies.ts';
import { idempotencyKeyOf } from './idempotency-key.ts';
import { operationDefaults, ValidationSchema } from './schema.ts';
import { createUploadAdmission, tooBusy } from './upload-admission.ts';
import { found } from './validation-path.ts';

/** A large job holds a connection to PostgreSQL for seconds while it is stored: so many may do so at a time. */
const LARGE_ROWS = 5_000;
const LARGE_AT_ONCE = 2;
const RUNNING_MAX = 10;
/** Of what a client may check in a day, so much may be kept for it; results are kept for a week by default. */
const KEPT_DAYS = 10;
const VALIDATION_ID_BYTES = 10;

const Row = Type.Object({
  bank_code: Type.String({ examples: ['014'] }),
  account_number: Type.String({ examples: ['1234567890'] }),
  expected_account_name: Type.Optional(Type.String({ examples: ['Budi Santoso'] })),
  reference: Type.Optional(Type.String({ description: 'Yours: it comes back with the result.', examples: ['INV-1'] })),
});

const schema = {
  ...operationDefaults,
  operationId: 'createAccountValidation',
  summary: 'Check many accounts',
  description: `Up to ${UPLOAD_ROWS_MAX} rows as JSON, CSV or XLSX (docs/account-validations.md). Each account is asked about once, as fast as its bank allows.`,
  headers: Type.Object({
    'idempotency-key': Type.Optional(
      Type.String({ description: 'Sent again with the same key, the same rows make no second job.', maxLength: 128 }),
    ),
  }),
  body: Type.Object({ accounts: Type.Array(Row, { minItems: 1, maxItems: UPLOAD_ROWS_MAX }) }),
  response: {
    202: successResponse(
      ValidationSchema,
      'Account validation accepted',
      'The job. `Location` is where to look at it.',
    ),
    ...errorResponses([
      'INVALID_FORMAT',
      'INVALID_REQUEST',
      'VALIDATION_LIMIT_REACHED',
      'IDEMPOTENCY_KEY_REUSED',
      'PAYLOAD_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
    ]),
  },
};

/** `app` reads its bodies as they come. */
export function createAccountValidation(app: FastifyInstance, dependencies: AccountValidationDependencies): void {
  const { authorize, database, banks, uploads, onCreated } = dependencies;
  const receiving = createUploadAdmission();
  let largeOnes = 0;
  const onRequest = [
    authorize({ scope: 'account:check', limitedOperation: 'account-validations' }),
    requireUpload,
    receiving.admit,
  ];

  app.post('/api/v1/account-validations', { onRequest, schema, bodyLimit: UPLOAD_BYTES_MAX }, (request, reply) =>
    receiving.whileProcessing(request, () => create(request, reply)),
  );

  async function create(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { client } = callerOf(request);
    const { clientId } = client;
    const body = bodyOf(request);
    const mediaType = uploadTypeOf(request) as UploadMediaType;
    const idempotencyKey = idempotencyKeyOf(request.headers['idempotency-key']);
    const bodySha256 = createHash('sha256').update(`${mediaType}\n`).update(body).digest();
    const before = idempotencyKey === null ? null : await madeBefore(clientId, idempotencyKey, bodySha256);
    if (before !== null) return accepted(request, reply, before);

    const upload = await uploads.read(clientId, mediaType, body);
    if (upload.kind === 'busy') throw tooBusy();
    if (upload.kind === 'fault') throw new ApiError(upload.code, upload);
    const { rows } = upload;
    const permit = (kept: StoredCounts): void => refuseExcess(kept, client);
    // Spares the work; storing counts once more.
    const kept = await countStored(database, clientId);
    permit({ running: kept.running + 1, rows: kept.rows + rows.length });
    const validationId = `av_${randomBytes(VALIDATION_ID_BYTES).toString('hex')}`;
    const key = { clientId, validationId };
    const isNew = await store({ ...key, rows, idempotencyKey, bodySha256 }, permit);
    // Sent twice at once with the same key: the other was first.
    const first = isNew || idempotencyKey === null ? null : await madeBefore(clientId, idempotencyKey, bodySha256);
    if (isNew) onCreated();
    return accepted(request, reply, first ?? found(await findValidation(database, key)));
  }

  async function store(given: NewValidationJob, permit: (kept: StoredCounts) => void): Promise<boolean> {
    const isLarge = given.rows.length > LARGE_ROWS;
    if (isLarge && largeOnes >= LARGE_AT_ONCE) throw tooBusy();
    if (isLarge) largeOnes += 1;
    try {
      return await storeValidation(database, banks, given, permit);
    } finally {
      if (isLarge) largeOnes -= 1;
    }
  }

  async function madeBefore(clientId: string, key: string, bodySha256: Buffer): Promise<AccountValidation | null> {
    const before = await findByIdempotencyKey(database, clientId, key);
    if (before !== null && !before.bodySha256.equals(bodySha256)) throw new ApiError('IDEMPOTENCY_KEY_REUSED');
    return before?.validation ?? null;
  }
}

/** @throws ApiError VALIDATION_LIMIT_REACHED */
function refuseExcess({ running, rows }: StoredCounts, { limits }: Client): void {
  if (running > RUNNING_MAX) throw new ApiError('VALIDATION_LIMIT_REACHED');
  const rowsMax = Math.max(limits['accounts-per-day'] * KEPT_DAYS, UPLOAD_ROWS_MAX);
  if (rows <= rowsMax) return;
  throw new ApiError('VALIDATION_LIMIT_REACHED', {
    message: `With these, more than ${rowsMax} rows would be kept for you: wait until earlier jobs are forgotten, or ask for a higher limit`,
  });
}

function accepted(request: FastifyRequest, reply: FastifyReply, validation: AccountValidation): FastifyReply {
  request.logFields = { validation: validation.validationId, rows: validation.rowCount };
  return reply
    .code(202)
    .headers({ ...ENVELOPE_HEADERS, location: `/api/v1/account-validations/${validation.validationId}` })
    .send(success('Account validation accepted', JSON.stringify(validationToJson(validation))));
}

const uploadTypeOf = (request: FastifyRequest): UploadMediaType | undefined => {
  const [type = ''] = (request.headers['content-type'] ?? '').toLowerCase().split(';');
  return UPLOAD_MEDIA_TYPES.find((each) => each === type.trim());
};

const requireUpload: onRequestHookHandler = (request, _reply, done) => {
  const isReadable =
    uploadTypeOf(request) !== undefined && (request.headers['content-encoding'] ?? 'identity') === 'identity';
  done(isReadable ? undefined : unsupportedMediaType(UPLOAD_MEDIA_TYPES));
};

/** @throws ApiError INVALID_FORMAT where there is no body. */
function bodyOf({ body }: FastifyRequest): Buffer {
  if (Buffer.isBuffer(body) && body.length > 0) return body;
  throw new ApiError('INVALID_FORMAT', { message: 'Invalid format: there is no body' });
}

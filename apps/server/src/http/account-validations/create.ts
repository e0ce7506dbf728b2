import { createHash, randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { Type } from 'typebox';
import { validationToJson } from '../../account-validations/to-json.ts';
import {
  UPLOAD_BYTES_MAX,
  UPLOAD_MEDIA_TYPES,
  UPLOAD_ROWS_MAX,
  type UploadMediaType,
} from '../../account-validations/uploads/upload.ts';
import {
  type NewUpload,
  type StoreDependencies,
  storeValidation,
} from '../../account-validations/validation-writes.ts';
import type { Client } from '../../auth/clients.ts';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import {
  type AccountValidation,
  countStored,
  findByIdempotencyKey,
  findValidation,
  type StoredCounts,
} from '../../postgres/account-validations.ts';
import { callerOf } from '../authorize.ts';
import { sendSuccess } from '../envelope.ts';
import { ApiError } from '../errors.ts';
import { IDEMPOTENCY_KEY_LENGTH_MAX, idempotencyKeyOf } from '../idempotency-key.ts';
import { isUncompressed, UNCOMPRESSED, unsupportedMediaType } from '../request-body.ts';
import { errorResponses, successResponse } from '../schemas.ts';
import { type AccountValidationDependencies, found, operationDefaults } from './operation.ts';
import { VALIDATION_EXAMPLE, ValidationSchema } from './schema.ts';
import { createUploadAdmission, tooBusy } from './upload-admission.ts';

/** A large validation holds a connection to PostgreSQL for seconds while it is stored, so few are stored at once. */
const LARGE_VALIDATION_ROWS = 5_000;
const LARGE_VALIDATIONS_AT_ONCE = 2;
const RUNNING_MAX = 10;
/** Stored rows are limited to what the client may check in this many days. By default results are stored for a week. */
const STORED_DAYS = 10;
const VALIDATION_ID_BYTES = 10;

const Row = Type.Object(
  {
    bank_code: Type.String({ description: 'Clearing code, BIC or short name.', examples: ['014'] }),
    account_number: Type.String({ description: 'As in check-account.', examples: ['1234567890'] }),
    expected_account_name: Type.Optional(
      Type.String({
        description: 'The name to compare with the name that the bank holds.',
        examples: ['Budi Santoso'],
      }),
    ),
    reference: Type.Optional(
      Type.String({ description: 'Your reference. The result repeats it.', examples: ['INV-1'] }),
    ),
  },
  { title: 'AccountValidationRow' },
);

const requestContent = {
  'application/json': {
    schema: Type.Object(
      { accounts: Type.Array(Row, { minItems: 1, maxItems: UPLOAD_ROWS_MAX }) },
      { title: 'NewAccountValidation' },
    ),
  },
  'text/csv': {
    schema: Type.String({ examples: ['bank_code,account_number\r\n014,1234567890\r\n'] }),
  },
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': {
    schema: Type.String({ description: 'The first sheet, with the columns of the CSV.', format: 'binary' }),
  },
};

const ACCEPTED: BilingualText = { en: 'Account validation accepted', id: 'Validasi rekening diterima' };

const schema = {
  ...operationDefaults,
  operationId: 'createAccountValidation',
  summary: 'Create a bulk validation',
  description:
    `Checks up to ${UPLOAD_ROWS_MAX} rows, sent as JSON, CSV or XLSX (docs/account-validations.md). ` +
    'The bank is asked once about each account, as fast as its quota allows.',
  headers: Type.Object({
    'idempotency-key': Type.Optional(
      Type.String({
        description: 'The same rows sent again with the same key create no second validation.',
        maxLength: IDEMPOTENCY_KEY_LENGTH_MAX,
        examples: ['payroll-2026-11'],
      }),
    ),
  }),
  body: { content: requestContent },
  response: {
    202: successResponse(ValidationSchema, ACCEPTED, 'The validation. `Location` is its address.', {
      headers: ['Location'],
      example: VALIDATION_EXAMPLE,
    }),
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

/** `app` passes bodies on as buffers. */
export function createAccountValidation(app: FastifyInstance, dependencies: AccountValidationDependencies): void {
  const { authorize, database, uploads, onCreated } = dependencies;
  const admission = createUploadAdmission();
  const store = createLimitedStore(dependencies);
  const onRequest = [
    authorize({ scope: 'account:check', limitedOperation: 'account-validations' }),
    requireUpload,
    admission.admit,
  ];

  app.post('/api/v1/account-validations', { onRequest, schema, bodyLimit: UPLOAD_BYTES_MAX }, (request, reply) =>
    admission.whileProcessing(request, () => create(request, reply)),
  );

  async function create(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { client } = callerOf(request);
    const { clientId } = client;
    const body = bodyOf(request);
    const mediaType = uploadTypeOf(request) as UploadMediaType;
    const idempotencyKey = idempotencyKeyOf(request.headers['idempotency-key']);
    const bodySha256 = createHash('sha256').update(`${mediaType}\n`).update(body).digest();
    const findEarlier = () =>
      idempotencyKey === null ? null : earlierValidation(clientId, idempotencyKey, bodySha256);
    const earlier = await findEarlier();
    if (earlier !== null) return accepted(request, reply, earlier);

    const upload = await uploads.read(clientId, mediaType, body);
    if (upload.kind === 'busy') throw tooBusy();
    if (upload.kind === 'fault') throw new ApiError(upload.code, upload);
    const { rows } = upload;
    const permit = (stored: StoredCounts): void => requireWithinLimits(stored, client);
    // Rejects early, before the rows are validated and inserted. Storing counts again, under a lock.
    const stored = await countStored(database, clientId);
    permit({ running: stored.running + 1, rows: stored.rows + rows.length });
    const validationId = `av_${randomBytes(VALIDATION_ID_BYTES).toString('hex')}`;
    const isNew = await store({ clientId, validationId, rows, idempotencyKey, bodySha256 }, permit);
    // Not new: another request with the same key was stored first, at the same time.
    const first = isNew ? null : await findEarlier();
    if (isNew) onCreated({ clientId, validationId }, request.span);
    return accepted(request, reply, first ?? found(await findValidation(database, { clientId, validationId })));
  }

  async function earlierValidation(
    clientId: string,
    key: string,
    bodySha256: Buffer,
  ): Promise<AccountValidation | null> {
    const earlier = await findByIdempotencyKey(database, clientId, key);
    if (earlier !== null && !earlier.bodySha256.equals(bodySha256)) throw new ApiError('IDEMPOTENCY_KEY_REUSED');
    return earlier?.validation ?? null;
  }
}

/** Stores validations, a few large ones at the same time. Returns false when the idempotency key was used before. */
function createLimitedStore(dependencies: StoreDependencies) {
  let largeValidations = 0;

  return async (upload: NewUpload, permit: (stored: StoredCounts) => void): Promise<boolean> => {
    const isLarge = upload.rows.length > LARGE_VALIDATION_ROWS;
    if (isLarge && largeValidations >= LARGE_VALIDATIONS_AT_ONCE) throw tooBusy();
    if (isLarge) largeValidations += 1;
    try {
      return await storeValidation(dependencies, upload, permit);
    } finally {
      if (isLarge) largeValidations -= 1;
    }
  };
}

/** @throws ApiError VALIDATION_LIMIT_REACHED */
function requireWithinLimits({ running, rows }: StoredCounts, { limits }: Client): void {
  if (running > RUNNING_MAX) throw new ApiError('VALIDATION_LIMIT_REACHED');
  const rowsMax = Math.max(limits['accounts-per-day'] * STORED_DAYS, UPLOAD_ROWS_MAX);
  if (rows <= rowsMax) return;
  throw new ApiError('VALIDATION_LIMIT_REACHED', {
    message: {
      en:
        `With this upload, more than ${rowsMax} rows would be stored for you: ` +
        'wait until earlier validations are deleted, or ask for a higher limit',
      id:
        `Dengan unggahan ini, lebih dari ${rowsMax} baris akan tersimpan untuk Anda: ` +
        'tunggu sampai validasi sebelumnya dihapus, atau minta batas yang lebih tinggi',
    },
  });
}

function accepted(request: FastifyRequest, reply: FastifyReply, validation: AccountValidation): FastifyReply {
  request.logFields = { validation: validation.validationId, rows: validation.rowCount };
  reply.code(202).header('location', `/api/v1/account-validations/${validation.validationId}`);
  return sendSuccess(reply, ACCEPTED, JSON.stringify(validationToJson(validation)));
}

const uploadTypeOf = (request: FastifyRequest): UploadMediaType | undefined => {
  const [type = ''] = (request.headers['content-type'] ?? '').toLowerCase().split(';');
  return UPLOAD_MEDIA_TYPES.find((each) => each === type.trim());
};

const requireUpload: onRequestHookHandler = (request, _reply, done) => {
  const isReadable = uploadTypeOf(request) !== undefined && isUncompressed(request.headers);
  done(isReadable ? undefined : unsupportedMediaType(UPLOAD_MEDIA_TYPES, UNCOMPRESSED));
};

/** @throws ApiError INVALID_FORMAT when the request has no body */
function bodyOf({ body }: FastifyRequest): Buffer {
  if (Buffer.isBuffer(body) && body.length > 0) return body;
  throw new ApiError('INVALID_FORMAT', { message: NO_BODY });
}

const NO_BODY: BilingualText = {
  en: 'Invalid format: the request has no body',
  id: 'Format tidak valid: permintaan tidak memiliki body',
};

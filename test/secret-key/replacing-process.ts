import { startTestService } from '../support/service.ts';

// A process in which a secret key replaces another one. The test kills it.

const [connectionString = '', secretKey = '', previousSecretKey = ''] = process.argv.slice(2);
await startTestService({
  database: { connection: { connectionString }, drop: () => Promise.resolve() },
  rails: [],
  secretKey: Buffer.from(secretKey, 'hex'),
  settings: { previousSecretKey: Buffer.from(previousSecretKey, 'hex') },
});
process.send?.('ready');

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import {
  type Mode,
  readSettings,
  SETTINGS,
  SettingsError,
  unknownVariables,
} from '../../apps/server/src/config/config.ts';

const SECRET_KEY = Buffer.alloc(32, 1).toString('base64');
const COMPLETE = {
  DATABASE_URL: 'postgresql://tiba:secret@db.internal/tiba',
  TIBA_PUBLIC_URL: 'https://api.example.com',
  TIBA_SECRET_KEY: SECRET_KEY,
  TIBA_RAILS_FILE: '/etc/tiba/rails.json',
};

function faultsOf(mode: Mode, environment: Record<string, string>): readonly string[] {
  try {
    readSettings(mode, environment);
    return [];
  } catch (error) {
    assert.ok(error instanceof SettingsError);
    for (const fault of error.faults) assert.ok(error.message.includes(fault));
    return error.faults;
  }
}

/** The variables that the faults name, in their order. */
const variablesOf = (faults: readonly string[]): string[] => faults.map((fault) => fault.split(' ')[0] ?? '');

describe('the settings', () => {
  it('of the sandbox all have defaults, and listen on this machine only', () => {
    const settings = readSettings('sandbox', {});
    assert.equal(settings.host, '127.0.0.1');
    assert.equal(settings.operatorHost, '127.0.0.1');
    assert.equal(settings.databaseUrl, null);
  });

  // docs/contract.md 4.6, 5.1, 6 and 8.1.
  it('have the limits and periods of the contract by default', () => {
    const settings = readSettings('sandbox', {});
    assert.deepEqual(
      {
        checkStatusPerMinute: settings.checkStatusPerMinute,
        checkAccountPerMinute: settings.checkAccountPerMinute,
        transactionsPerMinute: settings.transactionsPerMinute,
        accountChecksPerMinute: settings.accountChecksPerMinute,
        accountsPerDay: settings.accountsPerDay,
        authenticationFailuresPerMinute: settings.authenticationFailuresPerMinute,
        auditDays: settings.auditDays,
        callbackDays: settings.callbackDays,
        eventDays: settings.eventDays,
        transactionDays: settings.transactionDays,
        tokenSeconds: settings.tokenSeconds,
      },
      {
        checkStatusPerMinute: 120,
        checkAccountPerMinute: 100,
        transactionsPerMinute: 120,
        accountChecksPerMinute: 120,
        accountsPerDay: 100_000,
        authenticationFailuresPerMinute: 100,
        auditDays: 400,
        callbackDays: 90,
        eventDays: 400,
        transactionDays: 3_650,
        tokenSeconds: 15 * 60,
      },
    );
  });

  it('of a complete configuration are read as they are', () => {
    const proxies = { TIBA_TRUSTED_PROXIES: ' 10.0.0.0/8, ::1 ,,', TIBA_OPERATOR_TRUSTED_PROXIES: '10.1.2.3' };
    const settings = readSettings('serve', { ...COMPLETE, ...proxies });
    assert.equal(settings.databaseUrl, COMPLETE.DATABASE_URL);
    assert.deepEqual(settings.secretKey, Buffer.alloc(32, 1));
    assert.deepEqual(settings.trustedProxies, ['10.0.0.0/8', '::1']);
    assert.deepEqual(settings.operatorTrustedProxies, ['10.1.2.3']);
  });

  it('lose a slash at the end of the public URL, because paths are appended to it', () => {
    const { publicUrl } = readSettings('serve', { ...COMPLETE, TIBA_PUBLIC_URL: 'https://api.example.com/' });
    assert.equal(publicUrl, 'https://api.example.com');
  });

  it('that are secret can be given by file', async (context) => {
    const directory = await mkdtemp(path.join(tmpdir(), 'tiba-secrets-'));
    context.after(() => rm(directory, { recursive: true }));
    const file = path.join(directory, 'key');
    const { TIBA_SECRET_KEY: given, ...others } = COMPLETE;
    await writeFile(file, `${given}\n`);
    assert.deepEqual(readSettings('serve', { ...others, TIBA_SECRET_KEY_FILE: file }).secretKey, Buffer.alloc(32, 1));
    assert.match(
      faultsOf('serve', { ...COMPLETE, TIBA_SECRET_KEY_FILE: file }).join(),
      /^TIBA_SECRET_KEY and TIBA_SECRET_KEY_FILE are both set/,
    );
    const missing = faultsOf('serve', { ...others, TIBA_SECRET_KEY_FILE: path.join(directory, 'none') }).join();
    assert.match(missing, /TIBA_SECRET_KEY_FILE must name a file that can be read: ENOENT/);
    assert.ok(!missing.includes('TIBA_SECRET_KEY is missing'), 'one fault is told once');
    await writeFile(file, '\n');
    assert.match(faultsOf('serve', { ...others, TIBA_SECRET_KEY_FILE: file }).join(), /a file that is not empty/);
    // Production's secret, also by file, must not lead to invented transactions.
    await writeFile(file, SECRET_KEY);
    assert.match(faultsOf('sandbox', { TIBA_SECRET_KEY_FILE: file }).join(), /TIBA_SECRET_KEY belongs to production/);
  });

  it('keep no callback longer than its event, and no event longer than its transaction', () => {
    const faults = (days: Record<string, string>): readonly string[] => faultsOf('serve', { ...COMPLETE, ...days });
    assert.deepEqual(faults({ TIBA_CALLBACK_DAYS: '400', TIBA_EVENT_DAYS: '400' }), []);
    assert.match(faults({ TIBA_CALLBACK_DAYS: '401' }).join(), /^TIBA_CALLBACK_DAYS must be at most TIBA_EVENT_DAYS/);
    // 0 is no limit.
    assert.match(faults({ TIBA_EVENT_DAYS: '0' }).join(), /^TIBA_EVENT_DAYS must be at most TIBA_TRANSACTION_DAYS/);
    assert.deepEqual(faults({ TIBA_EVENT_DAYS: '0', TIBA_TRANSACTION_DAYS: '0' }), []);
  });

  it('keep the slash at the end of an external issuer, because tokens must match it exactly', () => {
    const external = {
      TIBA_TOKEN_ISSUER: 'https://tenant.example.com/',
      TIBA_TOKEN_JWKS_URL: 'https://tenant.example.com/jwks/',
    };
    const { tokenIssuer, tokenJwksUrl } = readSettings('serve', {
      ...COMPLETE,
      ...external,
      TIBA_TOKEN_AUDIENCE: 'tiba',
    });
    assert.deepEqual([tokenIssuer, tokenJwksUrl], [external.TIBA_TOKEN_ISSUER, external.TIBA_TOKEN_JWKS_URL]);
  });

  it('that production requires are all reported at once when they are missing or empty', () => {
    const missing = ['DATABASE_URL', 'TIBA_PUBLIC_URL', 'TIBA_SECRET_KEY', 'TIBA_RAILS_FILE'];
    assert.deepEqual(variablesOf(faultsOf('serve', {})), missing);
    assert.deepEqual(variablesOf(faultsOf('serve', Object.fromEntries(missing.map((name) => [name, ''])))), missing);
    for (const name of missing) assert.deepEqual(variablesOf(faultsOf('serve', { ...COMPLETE, [name]: '' })), [name]);
  });

  it('choose the embedded PostgreSQL in production only when TIBA_DATA_DIR is set', () => {
    assert.deepEqual(faultsOf('serve', { ...COMPLETE, DATABASE_URL: '', TIBA_DATA_DIR: '/var/lib/tiba' }), []);
  });

  const WRONG: Readonly<Record<string, readonly string[]>> = {
    TIBA_PORT: ['http', '-1', '65536', '80.5', '0x50', ' 80'],
    TIBA_OPERATOR_PORT: ['99999'],
    TIBA_PUBLIC_URL: ['api.example.com', 'ftp://api.example.com', 'https://'],
    DATABASE_URL: ['mysql://db/tiba', 'db.internal'],
    TIBA_DATABASE_CONNECTIONS: ['3', '0'],
    TIBA_PROCESSES: ['0', '65', '-1', '1.5', 'two', 'AUTO'],
    TIBA_SECRET_KEY: ['secret', Buffer.alloc(31).toString('base64'), Buffer.alloc(33).toString('base64')],
    TIBA_TOKEN_SECONDS: ['59', '86401', 'never'],
    TIBA_TOKEN_ISSUER: ['issuer'],
    TIBA_CHECK_STATUS_PER_MINUTE: ['-1', 'many', '1e3'],
    TIBA_CHECK_ACCOUNT_PER_MINUTE: ['NaN'],
    TIBA_AUTHENTICATION_FAILURES_PER_MINUTE: ['0'],
    TIBA_LOG_LEVEL: ['loud', 'constructor'],
    OTEL_EXPORTER_OTLP_ENDPOINT: ['collector:4318', 'grpc://collector:4317'],
    OTEL_EXPORTER_OTLP_PROTOCOL: ['grpc'],
    OTEL_EXPORTER_OTLP_HEADERS: ['token', 'a=%E', 'a=%0A', 'a b=c'],
    OTEL_RESOURCE_ATTRIBUTES: ['production'],
    OTEL_TRACES_SAMPLER: ['xray', '0.1'],
    OTEL_TRACES_SAMPLER_ARG: ['1.01', '-0.1', '1%', '.'],
    TIBA_TRUST_TRACEPARENT: ['maybe'],
  };
  for (const [name, values] of Object.entries(WRONG)) {
    for (const value of values) {
      it(`report ${name}=${value} once, and not as missing`, () => {
        const others = name === 'TIBA_TOKEN_ISSUER' ? { TIBA_TOKEN_JWKS_URL: 'https://issuer.example/jwks' } : {};
        const faults = faultsOf('serve', { ...COMPLETE, ...others, [name]: value });
        assert.deepEqual(variablesOf(faults), [name]);
        assert.match(faults[0] ?? '', / must be /);
      });
    }
  }

  it('never show a wrong secret in a fault', () => {
    const faults = faultsOf('serve', { ...COMPLETE, TIBA_SECRET_KEY: 'hunter2', DATABASE_URL: 'tiba:hunter2@db' });
    assert.equal(faults.length, 2);
    assert.doesNotMatch(faults.join(), /hunter2/);
  });

  it('that are wrong and those that are missing are reported together', () => {
    const faults = variablesOf(
      faultsOf('serve', { TIBA_PORT: 'http', TIBA_LOG_LEVEL: 'loud', TIBA_SECRET_KEY: 'short' }),
    );
    assert.deepEqual(faults.sort(), [
      'DATABASE_URL',
      'TIBA_LOG_LEVEL',
      'TIBA_PORT',
      'TIBA_PUBLIC_URL',
      'TIBA_RAILS_FILE',
      'TIBA_SECRET_KEY',
    ]);
  });

  it('of traces are those of OpenTelemetry', () => {
    const { otelResourceAttributes, otelSampler, otlpHeaders, otelSamplerArg } = readSettings('sandbox', {
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=production, team=a%2Cb',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '.01',
      OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Basic dXNlcjpwYXNz==,x-tenant=one',
    });
    assert.deepEqual(otelResourceAttributes, { 'deployment.environment.name': 'production', team: 'a,b' });
    assert.equal(otelSampler, 'parentbased_traceidratio');
    assert.equal(otelSamplerArg, 0.01);
    assert.deepEqual(otlpHeaders, { Authorization: 'Basic dXNlcjpwYXNz==', 'x-tenant': 'one' });
    assert.equal(readSettings('sandbox', {}).otlpEndpoint, null);
  });

  it('of the login of people go together, and are protected', () => {
    const login = {
      TIBA_OPERATOR_URL: 'https://ops.example.com/',
      TIBA_OPERATOR_OIDC_ISSUER: 'https://login.example.com/realms/staff',
      TIBA_OPERATOR_OIDC_CLIENT_ID: 'tiba',
    };
    const faults = (changes: Record<string, string>): string =>
      faultsOf('serve', { ...COMPLETE, ...login, ...changes }).join();
    assert.equal(faults({}), '');
    assert.equal(faults({ TIBA_OPERATOR_OIDC_ISSUER: 'http://localhost:9000' }), '');
    assert.match(faults({ TIBA_OPERATOR_URL: '' }), /TIBA_OPERATOR_OIDC_ISSUER needs TIBA_OPERATOR_URL/);
    assert.match(faults({ TIBA_OPERATOR_OIDC_CLIENT_ID: '' }), /needs TIBA_OPERATOR_OIDC_CLIENT_ID/);
    assert.match(faults({ TIBA_OPERATOR_OIDC_ISSUER: '' }), /^TIBA_OPERATOR_OIDC_ISSUER is missing/);
    for (const name of ['TIBA_OPERATOR_URL', 'TIBA_OPERATOR_OIDC_ISSUER'])
      assert.match(faults({ [name]: 'http://ops.example.com' }), new RegExp(`^${name} must start with https://`));
    assert.match(
      faults({ TIBA_OPERATOR_OIDC_ROLES: 'helpdesk=helper' }),
      /^TIBA_OPERATOR_OIDC_ROLES must be VALUE=ROLE/,
    );
    assert.match(faults({ TIBA_FOUR_EYES: 'limits,everything' }), /^TIBA_FOUR_EYES must be any of /);
    const { oidcRoles, fourEyes } = readSettings('serve', {
      ...COMPLETE,
      ...login,
      TIBA_OPERATOR_OIDC_ROLES: 'cn=leads=approver',
      TIBA_FOUR_EYES: 'limits, trust',
    });
    assert.deepEqual([...oidcRoles], [['cn=leads', 'approver']]);
    assert.deepEqual(fourEyes, ['limits', 'trust']);
    assert.deepEqual(
      [...readSettings('serve', COMPLETE).oidcRoles.keys()],
      ['viewer', 'support', 'engineer', 'approver'],
    );
  });

  it('of an external issuer must be set together', () => {
    const both = { TIBA_TOKEN_ISSUER: 'https://issuer.example', TIBA_TOKEN_JWKS_URL: 'https://issuer.example/jwks' };
    assert.deepEqual(faultsOf('serve', { ...COMPLETE, ...both }), []);
    for (const name of Object.keys(both)) {
      assert.equal(faultsOf('serve', { ...COMPLETE, ...both, [name]: '' }).length, 1);
    }
  });

  it('keep the sandbox away from production', () => {
    for (const environment of [
      { NODE_ENV: 'production' },
      { NODE_ENV: ' Production ' },
      { TIBA_RAILS_FILE: 'rails.json' },
      // Regression: with these settings and a new database, the sandbox filled production with demo data.
      { DATABASE_URL: COMPLETE.DATABASE_URL, TIBA_SECRET_KEY: SECRET_KEY },
      { DATABASE_URL: COMPLETE.DATABASE_URL, TIBA_PUBLIC_URL: COMPLETE.TIBA_PUBLIC_URL },
    ]) {
      const [fault = '', ...others] = faultsOf('sandbox', environment);
      assert.deepEqual(others, []);
      assert.match(fault, /belongs to production/);
    }
    assert.equal(faultsOf('sandbox', { NODE_ENV: 'production', TIBA_RAILS_FILE: 'rails.json' }).length, 2);
    assert.deepEqual(faultsOf('sandbox', { NODE_ENV: 'development', DATABASE_URL: COMPLETE.DATABASE_URL }), []);
    assert.deepEqual(faultsOf('sandbox', { TIBA_SECRET_KEY: '', TIBA_PUBLIC_URL: '' }), []);
    assert.deepEqual(faultsOf('serve', { ...COMPLETE, NODE_ENV: 'production' }), []);
  });

  it('each have a description of one or more sentences', () => {
    for (const { name, description } of Object.values(SETTINGS)) assert.match(description, /^[A-Z].*\.$/, name);
  });
});

/** Regression: with TIBA_EVENTS_DAYS and TIBA_FOUR_EYE, the defaults stayed in force, and nothing was said. */
describe('variables that are no settings', () => {
  it('are found, with the setting that is probably meant', () => {
    const environment = {
      ...COMPLETE,
      TIBA_EVENTS_DAYS: '60',
      TIBA_FOUR_EYE: 'keys',
      TIBA_PORT_FILE: '/run/secrets/port',
      TIBA_RETENTION: '',
      PATH: '/usr/bin',
    };
    assert.deepEqual(unknownVariables(environment), [
      'TIBA_EVENTS_DAYS: TIBA_EVENT_DAYS is probably meant',
      'TIBA_FOUR_EYE: TIBA_FOUR_EYES is probably meant',
      'TIBA_PORT_FILE',
    ]);
  });

  it('are not those of other programs: the command line, the containers, Kubernetes', async () => {
    const texts = await Promise.all(
      ['packages/cli/src/environment.ts', 'compose.yaml', 'Dockerfile', 'deploy/systemd/tiba@.service'].map((file) =>
        readFile(new URL(`../../${file}`, import.meta.url), 'utf8'),
      ),
    );
    const names = [...texts.join('\n').matchAll(/\bTIBA_[A-Z_]*[A-Z]\b/g)].map(([name]) => [name, 'x']);
    assert.ok(names.length > 10);
    const links = {
      TIBA_OPERATOR_SERVICE_HOST: '10.0.0.1',
      TIBA_OPERATOR_SERVICE_PORT_HTTP: '8081',
      TIBA_PORT_80_TCP_ADDR: '10.0.0.1',
      TIBA_SNAP_LISTENER_PORT: 'tcp://10.0.0.1:80',
    };
    assert.deepEqual(unknownVariables({ ...Object.fromEntries(names), ...links }), []);
  });
});

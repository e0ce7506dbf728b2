import {
  list,
  metricsToken,
  origins,
  port,
  publicUrl,
  setting,
  type TlsVersion,
  text,
  tlsVersion,
  wholeNumber,
  withDefault,
} from './values.ts';

/** The settings of the listeners: addresses, limits of connections, TLS. A part of SETTINGS (config.ts). */
export const LISTENER_SETTINGS = {
  host: withDefault('TIBA_HOST', '127.0.0.1', text, 'Address that the public listener binds to.'),
  port: withDefault('TIBA_PORT', '8080', port, 'Port of the public listener, the API for clients. 0: any free port.'),
  operatorHost: withDefault(
    'TIBA_OPERATOR_HOST',
    '127.0.0.1',
    text,
    'Address that the operator listener binds to. Choose one that clients cannot reach.',
  ),
  operatorPort: withDefault(
    'TIBA_OPERATOR_PORT',
    '8081',
    port,
    'Port of the operator listener: feed, health and metrics. 0: any free port.',
  ),
  snapPort: setting(
    'TIBA_SNAP_PORT',
    port,
    'Port of the SNAP listener, for [clients that speak SNAP](snap-clients.md); it binds to `TIBA_HOST`. ' +
      'Not set: there is none, except in the sandbox (8082). 0: any free port.',
  ),
  snapOwnBank: setting(
    'TIBA_SNAP_OWN_BANK',
    text,
    'The bank whose accounts the internal account inquiry (SNAP service 15) is about, by any of its codes. ' +
      'Not set: service 15 answers 405, except in the sandbox (BCA).',
  ),
  publicUrl: setting(
    'TIBA_PUBLIC_URL',
    publicUrl,
    'The URL at which clients reach the public listener. It is the issuer and the audience of access tokens.',
  ),
  docsDirectory: withDefault(
    'TIBA_DOCS_DIR',
    'docs/site/dist',
    text,
    'Folder of the built [documentation site](operating.md#the-documentation-site), which the public listener serves ' +
      'at `/docs`. A relative path begins in the folder of the program.',
  ),
  trustedProxies: withDefault(
    'TIBA_TRUSTED_PROXIES',
    '',
    list,
    'Reverse proxies in front of the public and the SNAP listener whose `X-Forwarded-For` header is trusted: ' +
      'addresses or networks (CIDR), separated by commas.',
  ),
  operatorTrustedProxies: withDefault(
    'TIBA_OPERATOR_TRUSTED_PROXIES',
    '',
    list,
    'Those in front of the operator listener. By default it trusts none. A caller at one of these addresses chooses ' +
      'the address by which its failures are counted, and which is recorded with what people do: name no network ' +
      'from which the disbursement core or Prometheus connects.',
  ),
  corsOrigins: withDefault(
    'TIBA_CORS_ORIGINS',
    '',
    origins,
    'Origins of [web pages](api.md#web-pages) that may call the API from a browser, such as ' +
      '`https://app.example.com`, separated by commas. By default none may.',
  ),
  connectionsMax: withDefault(
    'TIBA_CONNECTIONS_MAX',
    '10000',
    wholeNumber(1, 1_000_000),
    'Limit of open connections to each listener of this process. The limit of open files may lower it: half of the ' +
      'files are for clients, a quarter for the operator listener.',
  ),
  connectionsPerAddress: withDefault(
    'TIBA_CONNECTIONS_PER_ADDRESS',
    '1000',
    wholeNumber(1, 1_000_000),
    'Limit of open connections from one IP address (IPv6: one /64 network) to each listener of this process. ' +
      'The addresses in `TIBA_TRUSTED_PROXIES` are exempt, on the operator listener those in ' +
      '`TIBA_OPERATOR_TRUSTED_PROXIES`.',
  ),
  tlsCertificateFile: setting(
    'TIBA_TLS_CERTIFICATE_FILE',
    text,
    'PEM file with the certificate of the listeners, followed by its intermediate ones. With it all listeners speak ' +
      '[TLS](operating.md#tls) instead of plain HTTP. Needs `TIBA_TLS_KEY_FILE`.',
  ),
  tlsKeyFile: setting('TIBA_TLS_KEY_FILE', text, 'PEM file with the private key of that certificate, unencrypted.'),
  tlsMinVersion: withDefault(
    'TIBA_TLS_MIN_VERSION',
    '1.3',
    tlsVersion,
    'Lowest version of TLS that the listeners accept: 1.3, or 1.2 for clients that cannot speak 1.3.',
  ),
  operatorTlsCertificateFile: setting(
    'TIBA_OPERATOR_TLS_CERTIFICATE_FILE',
    text,
    'As `TIBA_TLS_CERTIFICATE_FILE`, for the operator listener only: when it has a certificate of its own, or when ' +
      'it alone speaks TLS. Needs `TIBA_OPERATOR_TLS_KEY_FILE`.',
  ),
  operatorTlsKeyFile: setting(
    'TIBA_OPERATOR_TLS_KEY_FILE',
    text,
    'PEM file with the private key of that certificate, unencrypted.',
  ),
  operatorTlsClientCaFile: setting(
    'TIBA_OPERATOR_TLS_CLIENT_CA_FILE',
    text,
    'PEM file with the authorities of [client certificates](operating.md#client-certificates). With it the operator ' +
      'listener accepts only connections with a certificate that one of them issued. Needs TLS there.',
  ),
  metricsToken: setting(
    'TIBA_METRICS_TOKEN',
    metricsToken,
    'Token that `/metrics` requires as `Authorization: Bearer`. Not set: it requires none.',
    { secret: true },
  ),
} as const;

/** The files that make a listener speak TLS, each with the setting that names it. */
export interface TlsFiles {
  readonly certificateFile: TlsFile;
  readonly keyFile: TlsFile;
  /** The authorities of the certificates that clients must have; null where they need none. */
  readonly clientCaFile: TlsFile | null;
  readonly minVersion: TlsVersion;
}

export interface TlsFile {
  readonly path: string;
  readonly setting: string;
}

type FileSetting = (typeof TLS_PAIRS)[number][number] | 'operatorTlsClientCaFile';

type TlsSettings = Readonly<Record<FileSetting, string | null>> & {
  readonly tlsMinVersion: TlsVersion;
};

const TLS_PAIRS = [
  ['tlsCertificateFile', 'tlsKeyFile'],
  ['operatorTlsCertificateFile', 'operatorTlsKeyFile'],
] as const;

/**
 * Null where a listener speaks plain HTTP. The operator listener has the certificate of the others, unless it has its
 * own.
 */
export function tlsFilesOf(settings: TlsSettings): Readonly<Record<'public' | 'operator', TlsFiles | null>> {
  const [shared = null, own = null] = TLS_PAIRS.map(([certificate, key]) => {
    const certificateFile = fileOf(settings, certificate);
    const keyFile = fileOf(settings, key);
    if (certificateFile === null || keyFile === null) return null;
    return { certificateFile, keyFile, clientCaFile: null, minVersion: settings.tlsMinVersion };
  });
  const operator = own ?? shared;
  const clientCaFile = fileOf(settings, 'operatorTlsClientCaFile');
  return {
    public: shared,
    operator: operator === null || clientCaFile === null ? operator : { ...operator, clientCaFile },
  };
}

function fileOf(settings: TlsSettings, name: FileSetting): TlsFile | null {
  const path = settings[name];
  return path === null ? null : { path, setting: LISTENER_SETTINGS[name].name };
}

/** Faults of settings that go together. What is in the files is checked when they are read (http/tls). */
export function faultsOfTls(settings: TlsSettings): string[] {
  const faults = TLS_PAIRS.filter(
    ([certificate, key]) => (settings[certificate] === null) !== (settings[key] === null),
  ).map(
    ([certificate, key]) =>
      `${LISTENER_SETTINGS[certificate].name} and ${LISTENER_SETTINGS[key].name} go together: set both or neither`,
  );
  if (settings.operatorTlsClientCaFile !== null && tlsFilesOf(settings).operator === null) {
    const { operatorTlsClientCaFile, operatorTlsCertificateFile } = LISTENER_SETTINGS;
    faults.push(`${operatorTlsClientCaFile.name} needs TLS: set ${operatorTlsCertificateFile.name} and its key too`);
  }
  return faults;
}

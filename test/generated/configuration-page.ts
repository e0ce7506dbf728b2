import { SETTINGS } from '../../apps/server/src/config/config.ts';

/** Renders docs/configuration.md from the table of settings. */
export function renderConfigurationPage(): string {
  const rows = Object.values(SETTINGS).map((setting) => {
    const fallback = 'fallback' in setting && setting.fallback !== '' ? `\`${setting.fallback}\`` : '';
    const secret = 'secret' in setting ? ` **Secret**, also by file: \`${setting.name}_FILE\`.` : '';
    return `| \`${setting.name}\` | ${fallback} | ${setting.description}${secret} |`;
  });
  return `# Configuration

This page is generated from \`apps/server/src/config/config.ts\`: change it there, then run \`npm run generate\`.

\`npm start\`, the sandbox, needs no setting. \`npm run serve\`, production, requires \`DATABASE_URL\` (or
\`TIBA_DATA_DIR\` for the embedded PostgreSQL), \`TIBA_PUBLIC_URL\`, \`TIBA_SECRET_KEY\` and \`TIBA_RAILS_FILE\`, and
reports all faults at once. A variable that begins with \`TIBA_\` and is no setting is ignored, with a warning in the
log at the start of \`serve\`: it may be a misspelled one.

| variable | default | meaning |
|---|---|---|
${rows.join('\n')}
`;
}

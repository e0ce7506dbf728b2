/**
 * Why the simulated bank must not start here, or null. It invents account holders: one real check answered by it
 * would send real money to an account that nobody looked at. Names of variables only: their values may be secrets.
 */
export function findProductionFault(environment: NodeJS.ProcessEnv): string | null {
  const variables = [
    ...(isProduction(environment['NODE_ENV']) ? ['NODE_ENV'] : []),
    ...['DATABASE_URL', 'TIBA_RAILS_FILE'].filter((name) => isSet(environment[name])),
  ];
  if (variables.length === 0) return null;
  return (
    `The simulated bank refuses to start next to a production configuration (${variables.join(', ')}), because it invents ` +
    'account holders that real payments must never rely on. Start it in an environment without NODE_ENV=production, ' +
    'DATABASE_URL and TIBA_RAILS_FILE.'
  );
}

function isProduction(value: string | undefined): boolean {
  return value?.trim().toLowerCase() === 'production';
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '';
}

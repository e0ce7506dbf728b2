import type { BenchDatabase } from './database/databases.ts';
import type { Target } from './measure.ts';
import { checkStatusRequests } from './requests.ts';
import type { Service } from './services.ts';

/** Status checks of all transactions of the database. */
export const checkStatusTarget = (service: Service, database: BenchDatabase, title: string): Target => ({
  title: `check-status, ${title}`,
  pid: service.pid,
  service,
  requests: checkStatusRequests(service.address.publicUrl, service.address.token, database),
});

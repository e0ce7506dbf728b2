import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { CallFailure, call } from './api/request.ts';
import { useResource } from './api/resource.ts';
import { endSession, session } from './api/session.ts';
import { Failure } from './components/failure.tsx';
import { SecretDialog } from './components/secret.tsx';
import { Header } from './header.tsx';
import { Login } from './login.tsx';
import { Menu } from './menu.tsx';
import { OverduePage, ReviewsPage } from './pages/attention.tsx';
import { AuditPage } from './pages/audit.tsx';
import { BankPage } from './pages/availability.tsx';
import { BanksPage } from './pages/banks.tsx';
import { CallbacksPage } from './pages/callbacks.tsx';
import { ClientPage } from './pages/client.tsx';
import { ClientsPage } from './pages/clients.tsx';
import { EnumerationPage } from './pages/enumeration.tsx';
import { NotFoundPage } from './pages/not-found.tsx';
import { OverviewPage } from './pages/overview.tsx';
import { ProcessesPage } from './pages/processes.tsx';
import { ProposalPage } from './pages/proposal.tsx';
import { ProposalsPage } from './pages/proposals.tsx';
import { ReplayPage, ReplaysPage } from './pages/replays.tsx';
import { SearchPage } from './pages/search.tsx';
import { SessionsPage } from './pages/sessions.tsx';
import { TransactionPage } from './pages/transaction.tsx';
import { ValidationsPage } from './pages/validations.tsx';
import { say, type Text } from './preferences.ts';
import { place } from './router.ts';
import { loadSettings } from './settings.ts';

const SKIP: Text = { en: 'Go to the content', id: 'Ke isi halaman' };

const RETRYING: Text = {
  en: 'This page tries again by itself every 5 seconds.',
  id: 'Halaman ini mencoba lagi sendiri tiap 5 detik.',
};
const RETRY_MS = 5_000;

export function App() {
  return (
    <>
      <Content />
      <SecretDialog />
    </>
  );
}

function Content() {
  if (session.value === 'loading') return <Loading />;
  return session.value === null ? <Login /> : <Console />;
}

/** Nothing, unless the service does not say who is logged in: while its database is away, or it starts. */
function Loading() {
  const { failure, reload } = useResource('session', readSession, RETRY_MS);
  if (failure === null) return null;
  return (
    <main>
      <Failure failure={failure} onRetry={reload} />
      <p class="muted">{say(RETRYING)}</p>
    </main>
  );
}

/** Without a login the answer is 401, which `call` heeds; 404 where people cannot log in. */
async function readSession(signal: AbortSignal): Promise<void> {
  try {
    session.value = await call('readSession', {}, signal);
  } catch (error) {
    if (error instanceof CallFailure && error.status === 404) endSession();
    throw error;
  }
}

function Console() {
  useEffect(() => void loadSettings(), []);
  return (
    <>
      <a class="skip" href="#content">
        {say(SKIP)}
      </a>
      <Header />
      <div class="frame">
        <Menu />
        {pageAt(place.value.path)}
      </div>
    </>
  );
}

const PAGES: Readonly<Partial<Record<string, () => ComponentChildren>>> = {
  '': () => <OverviewPage />,
  transactions: () => <SearchPage />,
  overdue: () => <OverduePage />,
  reviews: () => <ReviewsPage />,
  callbacks: () => <CallbacksPage />,
  banks: () => <BanksPage />,
  clients: () => <ClientsPage />,
  replays: () => <ReplaysPage />,
  validations: () => <ValidationsPage />,
  enumeration: () => <EnumerationPage />,
  proposals: () => <ProposalsPage />,
  audit: () => <AuditPage />,
  sessions: () => <SessionsPage />,
  processes: () => <ProcessesPage />,
};

function pageAt(path: string): ComponentChildren {
  const [name = '', encoded, ...rest] = path.split('/');
  const id = encoded === undefined ? null : decoded(encoded);
  if (rest.length === 0 && name === 'transactions' && id !== null) return <TransactionPage key={id} id={id} />;
  if (rest.length === 0 && name === 'banks' && id !== null) return <BankPage key={id} code={id} />;
  if (rest.length === 0 && name === 'clients' && id !== null) return <ClientPage key={id} id={id} />;
  if (rest.length === 0 && name === 'replays' && id !== null) return <ReplayPage key={id} id={id} />;
  if (rest.length === 0 && name === 'proposals' && id !== null) return <ProposalPage key={id} id={id} />;
  const page = encoded === undefined && Object.hasOwn(PAGES, name) ? PAGES[name] : undefined;
  return page?.() ?? <NotFoundPage />;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

import { Page } from '../components/page.tsx';
import { say, type Text } from '../preferences.ts';
import { address } from '../router.ts';
import { TEXTS } from '../texts.ts';

const TITLE: Text = { en: 'No such page', id: 'Halaman tidak ada' };
const HINT: Text = { en: 'Search above, or begin at the', id: 'Cari di atas, atau mulai dari' };

export function NotFoundPage() {
  return (
    <Page title={say(TITLE)}>
      <p>
        {say(HINT)} <a href={address([])}>{say(TEXTS.overview)}</a>.
      </p>
    </Page>
  );
}

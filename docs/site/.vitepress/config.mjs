import { readFileSync } from 'node:fs';
import { anchorOf } from '../anchors.ts';
import { drawDiagrams } from './diagrams.mjs';

/** VitePress builds what `assemble.ts` has put together. */

const { en, id } = JSON.parse(readFileSync(new URL('../.menus.json', import.meta.url), 'utf8'));

export default {
  title: 'Tiba',
  description: 'Can it arrive, and has it arrived: account checks before and status checks after a disbursement.',
  base: '/docs/',
  srcDir: '.pages',
  outDir: '.output',
  cacheDir: '.cache',
  cleanUrls: true,
  // One small file in place of a script in each page.
  metaChunk: true,
  markdown: { anchor: { slugify: anchorOf }, config: configureMarkdown },
  locales: {
    root: { label: 'English', lang: 'en', themeConfig: { sidebar: en } },
    id: {
      label: 'Bahasa Indonesia',
      lang: 'id',
      link: '/id/guides/',
      themeConfig: {
        sidebar: [...id, { text: 'Dalam bahasa Inggris', items: en.slice(1).map(withoutItems) }],
        outline: { label: 'Di halaman ini', level: [2, 3] },
        docFooter: { prev: 'Sebelumnya', next: 'Berikutnya' },
        darkModeSwitchLabel: 'Tampilan',
        sidebarMenuLabel: 'Menu',
        returnToTopLabel: 'Kembali ke atas',
        langMenuLabel: 'Ganti bahasa',
        skipToContentLabel: 'Langsung ke isi',
      },
    },
  },
  themeConfig: {
    notFound: { linkText: 'To the first page', linkLabel: 'To the first page' },
    outline: [2, 3],
    // Most pages are in English only: the guides say where they are in the other language.
    i18nRouting: false,
    search: {
      provider: 'local',
      options: {
        _render: renderForSearch,
        locales: {
          id: {
            translations: {
              button: { buttonText: 'Cari', buttonAriaLabel: 'Cari' },
              modal: {
                noResultsText: 'Tidak ada hasil untuk',
                resetButtonTitle: 'Hapus pencarian',
                displayDetails: 'Tampilkan rincian',
                backButtonTitle: 'Tutup pencarian',
                footer: { selectText: 'pilih', navigateText: 'pindah', closeText: 'tutup' },
              },
            },
          },
        },
      },
    },
  },
};

function configureMarkdown(markdown) {
  markdown.core.ruler.push('cells', emptyHeaders);
  drawDiagrams(markdown);
}

/** A header without text is none, and screen readers would announce it. */
function emptyHeaders({ tokens }) {
  for (const [index, open] of tokens.entries()) {
    if (open.type !== 'th_open' || tokens[index + 1].content !== '') continue;
    open.tag = 'td';
    tokens[index + 2].tag = 'td';
  }
}

/** Lists of files would hide what readers look for. */
const NOT_SEARCHED = /^files\//;

async function renderForSearch(text, env, markdown) {
  return NOT_SEARCHED.test(env.relativePath) ? '' : markdown.renderAsync(text, env);
}

/** A section as one line of the menu, which leads to its first page. */
function withoutItems({ text, items: [first] }) {
  return { text, link: first.link };
}

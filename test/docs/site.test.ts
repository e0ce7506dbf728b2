import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { anchorsOf } from '../../docs/site/anchors.ts';
import { assembleSite, type Site } from '../../docs/site/assemble.ts';
import { documentOf, operationsOf } from '../support/openapi.ts';

/** What the documentation site is made of; VitePress makes HTML of it (`npm run docs`). */

const root = fileURLToPath(new URL('../..', import.meta.url));
const site = await assembleSite(root);

const pageAt = ({ pages }: Site, sitePath: string): string => pages.get(sitePath) ?? assert.fail(sitePath);

suite('the assembled site', () => {
  test('has every page in one menu, but for the lists of files', () => {
    const links = [...site.menus.en, ...site.menus.id].flatMap(({ items }) => items.map(({ link }) => link));
    assert.equal(new Set(links).size, links.length);
    const inMenus = new Set(links);
    const missing = [...site.pages.keys()]
      .filter((sitePath) => !sitePath.startsWith('files/'))
      .filter((sitePath) => !inMenus.has(`/${sitePath.replace(/(?:index)?\.md$/, '')}`));
    assert.deepEqual(missing, []);
    for (const { text, items } of [...site.menus.en, ...site.menus.id])
      for (const item of items) assert.ok(item.text !== '', `${text}: ${item.link} has no title`);
  });

  test('links of its pages lead to pages, headings and files of the site', () => {
    let count = 0;
    for (const [sitePath, page] of site.pages) {
      const links = page
        .replaceAll(/^```[^]*?^```$/gm, '')
        .matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g);
      for (const [link, target = '', anchor] of links) {
        const found = target === '' ? sitePath : path.posix.join(path.posix.dirname(sitePath), target);
        assert.ok(site.pages.has(found) || site.files.has(found), `${sitePath}: ${link}`);
        if (anchor !== undefined) assert.ok(anchorsOf(pageAt(site, found)).has(anchor), `${sitePath}: ${link}`);
        count += 1;
      }
    }
    assert.ok(count > 300, String(count));
  });

  test('has nothing for operators: the public listener shows it to everyone', () => {
    const text = [...site.pages.values(), site.llms].join('\n');
    assert.doesNotMatch(text, /\]\([^)]*(?:operating|configuration|runbooks|SECURITY|security|decisions)[^)]*\.md/);
    for (const name of ['operating', 'configuration', 'security', 'runbooks', 'architecture'])
      assert.ok(!site.pages.has(`${name}.md`), name);
    for (const file of site.files.values()) assert.match(file, /^(?:openapi\.json$|docs\/samples\/|docs\/guides\/)/);
  });

  test('has a reference of every operation, with its codes, scope and schemas', () => {
    const pages = [...site.pages].filter(([sitePath]) => sitePath.startsWith('reference/'));
    const text = pages.map(([, page]) => page).join('\n');
    for (const { method, path: route, operation } of operationsOf(documentOf('public'))) {
      assert.ok(text.includes(`\n\`\`\`http\n${method.toUpperCase()} ${route}\n`), route);
      assert.ok(text.includes(`\n## ${operation.summary}\n`), route);
    }
    const check = pageAt(site, 'reference/account-validation.md');
    assert.match(check, /Scope: `account:check`\./);
    assert.match(check, /^\| 400 \| `INVALID_BANK_CODE`, `INVALID_FORMAT` \|/m);
    assert.match(check, /\[CheckedAccount\]\(\.\/schemas\.md#checkedaccount\)/);
    assert.match(
      pageAt(site, 'reference/schemas.md'),
      /^\| `is_valid` \| boolean \| true exactly when status is ACTIVE/m,
    );
  });

  test('llms.txt names every page of the menus with a sentence', () => {
    for (const { items } of [...site.menus.en, ...site.menus.id]) {
      for (const { link } of items) {
        const address = `/docs${link}${link.endsWith('/') ? 'index' : ''}.md`;
        assert.ok(site.llms.includes(`](${address}): `), address);
      }
    }
    for (const line of site.llms.split('\n').filter((each) => each.startsWith('- ')))
      assert.match(line, /^- \[.+\]\(\/docs\/[\w./-]+\.md\): \S.{10,}$/);
  });

  test('each diagram says to screen readers what it shows', () => {
    const diagrams = [...site.pages.values()].flatMap((page) => page.match(/^```mermaid\n[^]*?^```$/gm) ?? []);
    assert.ok(diagrams.length >= 4, String(diagrams.length));
    for (const diagram of diagrams) assert.match(diagram, /^ {2}accTitle: \S.{10,}$/m);
  });

  test('guides lead to the other language', () => {
    assert.match(pageAt(site, 'guides/start.md'), /^# .*\n\n\[Bahasa Indonesia\]\(\.\.\/id\/guides\/start\.md\)$/m);
    assert.match(pageAt(site, 'id/guides/start.md'), /^# .*\n\n\[English\]\(\.\.\/\.\.\/guides\/start\.md\)$/m);
  });
});

test('a dead link fails the build, and says where it is', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'tiba-site-'));
  try {
    await mkdir(path.join(folder, 'docs'));
    await writeFile(path.join(folder, 'docs/api.md'), '# API\n\n[nowhere](banks.md)\n');
    await writeFile(path.join(folder, 'openapi.json'), '{"paths":{},"tags":[],"components":{"schemas":{}}}');
    await assert.rejects(assembleSite(folder), /docs\/api\.md: a link leads to docs\/banks\.md, which does not exist/);
    await writeFile(path.join(folder, 'docs/banks.md'), '# Banks\n');
    assert.match(pageAt(await assembleSite(folder), 'api.md'), /\[nowhere\]\(\.\/banks\.md\)/);
    // A page of the repository that is not on the site.
    await writeFile(path.join(folder, 'docs/operating.md'), '# Operating\n');
    await writeFile(path.join(folder, 'docs/api.md'), '# API\n\nSee [how](operating.md#people), please.\n');
    const site2 = await assembleSite(folder);
    assert.match(pageAt(site2, 'api.md'), /^See how, please\.$/m);
    assert.ok(!site2.pages.has('operating.md'));
  } finally {
    await rm(folder, { recursive: true });
  }
});

import { renderMermaidSVG } from 'beautiful-mermaid';

/**
 * Draws the Mermaid diagrams of the pages while the site is built, so that no script draws in the reader's browser and
 * nothing is loaded from elsewhere.
 */

/** The colors of the page, light or dark. */
const COLORS = {
  bg: 'var(--vp-c-bg)',
  fg: 'var(--vp-c-text-1)',
  line: 'var(--vp-c-text-3)',
  accent: 'var(--vp-c-text-2)',
  muted: 'var(--vp-c-text-1)',
  surface: 'var(--vp-c-bg-soft)',
  border: 'var(--vp-c-text-3)',
  transparent: true,
};

/** In pixels: a drawing that is wider shrinks to this, on a phone. */
const WIDTH_MIN = 640;

const TITLE = /^ *accTitle: *(\S.*)\n/m;
/** The styles of the drawing, which load a font. */
const STYLE = /<style>([^]*?)<\/style>\n?/;
/** Variables that the drawing derives from its colors. */
const VARIABLES = /svg \{([^}]*)\}/;

/** Blocks of code in the language `mermaid` become drawings. */
export function drawDiagrams(markdown) {
  const { fence } = markdown.renderer.rules;
  markdown.renderer.rules.fence = (tokens, index, ...rest) =>
    tokens[index].info.trim() === 'mermaid'
      ? // It may be wider than a phone: what scrolls must be reachable with the keyboard.
        `<div class="diagram" tabindex="0" v-pre>${draw(tokens[index].content, `diagram-${index}`)}</div>\n`
      : fence(tokens, index, ...rest);
}

/** @throws Error when the diagram does not say what it shows, or a part of it is not drawn */
function draw(source, id) {
  const [titleLine, title] = TITLE.exec(source) ?? [];
  if (title === undefined) throw new Error(`a diagram needs a line accTitle, for screen readers:\n${source}`);
  const drawn = renderMermaidSVG(source.replace(titleLine, ''), COLORS);
  for (const missing of notDrawn(source.replace(titleLine, ''), drawn))
    throw new Error(`the diagram lacks ${missing}: write it as the other diagrams are\n${source}`);
  const [, variables = ''] = VARIABLES.exec(STYLE.exec(drawn)?.[1] ?? '') ?? [];
  const derived = variables
    .replaceAll(/\/\*[^]*?\*\//g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const [, width] = / width="([\d.]+)"/.exec(drawn) ?? [];
  const size = `min-width:${Math.min(Number(width), WIDTH_MIN)}px`;
  return drawn
    .replace(STYLE, '')
    .replace(/ style="([^"]*)"/, ` role="img" aria-label="${escape(title)}" style="$1;${size};${derived}"`)
    .replaceAll('arrowhead', `${id}-arrowhead`);
}

/** What is not in the drawing: the renderer leaves out what it does not know. */
function notDrawn(source, drawn) {
  const labels = [...source.matchAll(/\["?([^"\]]+)"?\]|\(\("([^"]+)"\)\)|\|([^|\n]+)\|/g)]
    .flatMap(([, box, round, edge]) => (box ?? round ?? edge).split('<br>'))
    .filter((label) => label !== '*' && !drawn.includes(`>${escape(label)}<`));
  const arrows = source.split('-->').length - 1;
  const lines = drawn.split('<polyline class="edge"').length - 1;
  return arrows === lines ? labels : [...labels, `${arrows - lines} of its ${arrows} arrows`];
}

const escape = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

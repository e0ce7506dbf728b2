import type { XmlElement } from './xml.ts';

/** What a schema says of one element: the text that it holds, or the elements, all of them and in this order. */
export type ElementRule =
  | { readonly name: string; readonly text: Pick<RegExp, 'test'> }
  | { readonly name: string; readonly content: readonly ElementRule[] };

/**
 * The path of the first element that breaks the rules, or lacks; null when there is none. No element below the first has
 * attributes.
 */
export function findFault(element: XmlElement, rule: ElementRule): string | null {
  const { name } = rule;
  if (element.name !== name) return element.name;
  if ('text' in rule) return rule.text.test(element.text) ? null : name;
  for (const [index, each] of rule.content.entries()) {
    const child = element.children[index];
    const fault = child === undefined || child.attributes !== '' ? each.name : findFault(child, each);
    if (fault !== null) return `${name}/${fault}`;
  }
  const unexpected = element.children[rule.content.length];
  return unexpected === undefined ? null : `${name}/${unexpected.name}`;
}

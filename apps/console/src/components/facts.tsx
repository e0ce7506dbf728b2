import type { ComponentChildren } from 'preact';
import { say, type Text } from '../preferences.ts';

/** A name and its value; null for one that is not shown. */
export type Fact = readonly [name: Text, value: ComponentChildren];

/** What is known about one thing. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div key={name.en}>
            <dt>{say(name)}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

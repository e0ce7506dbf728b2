import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Resource } from '../api/resource.ts';
import { say } from '../preferences.ts';
import { place } from '../router.ts';
import { TEXTS } from '../texts.ts';
import { Failure } from './failure.tsx';

/**
 * The frame of a page. Its heading gets the focus, so that a screen reader begins there, also where a search leads from
 * the page to itself. The arrow down goes on to the first row.
 */
export function Page({
  title,
  lead,
  children,
  aside,
}: {
  readonly title: string;
  /** Which question the page answers. */
  readonly lead?: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Tiba`;
    if (document.activeElement === null || document.activeElement === document.body) {
      heading.current?.focus({ preventScroll: true });
    }
  }, [title, place.value]);
  return (
    <main id="content">
      <header class="page-head">
        <h1 ref={heading} tabIndex={-1} onKeyDown={enterTable}>
          {title}
        </h1>
        {aside}
      </header>
      {lead !== undefined && <p class="lead">{lead}</p>}
      {children}
    </main>
  );
}

function enterTable(event: KeyboardEvent): void {
  const first = document.querySelector<HTMLElement>('#content td :is(a, button)');
  if (event.key !== 'ArrowDown' || first === null) return;
  event.preventDefault();
  first.focus();
}

/** What was read, or that it is being read, or why it could not be. What is already there stays. */
export function Loaded<T>({
  resource,
  children,
}: {
  readonly resource: Resource<T>;
  readonly children: (data: T) => ComponentChildren;
}) {
  const { data, failure, reload } = resource;
  return (
    <>
      {failure !== null && <Failure failure={failure} onRetry={reload} />}
      {data === null && failure === null && <p class="empty">{say(TEXTS.loading)}</p>}
      {data !== null && children(data)}
    </>
  );
}

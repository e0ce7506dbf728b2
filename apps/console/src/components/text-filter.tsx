import { say, type Text } from '../preferences.ts';
import { address, navigate } from '../router.ts';

const FILTER: Text = { en: 'Filter', id: 'Saring' };

interface TextFilterProps<Name extends string> {
  /** Of the page with the list. */
  readonly path: readonly string[];
  readonly titles: Readonly<Record<Name, Text>>;
  readonly values: Readonly<Record<Name, string | null>>;
}

/** A form whose texts filter the list of a page. They stand in the address, so that the list can be linked. */
export function TextFilter<Name extends string>({ path, titles, values }: TextFilterProps<Name>) {
  const names = Object.keys(titles) as Name[];
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    navigate(address(path, Object.fromEntries(names.map((name) => [name, textIn(form, name)]))));
  };
  return (
    <form class="filter-form" onSubmit={submit}>
      {names.map((name) => (
        <label key={name}>
          {say(titles[name])}
          <input name={name} defaultValue={values[name] ?? ''} />
        </label>
      ))}
      <button type="submit">{say(FILTER)}</button>
    </form>
  );
}

function textIn(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value.trim() : '';
}

import type { PartitionedTable } from './plan.ts'

/** The signatures of the functions, for grants. */
export const partitionFunctions = ['make_partition(text, text)', 'drop_partition(text, text)', 'delete_expired(text)']

/**
 * Returns the statements that define the functions by which the API's role maintains partitions of tables that it does not own.
 * The functions run with the rights of the role that defines them. They create only partitions of the present, and drop only
 * what has exceeded the retention by the clock of the database. `schema` is a quoted identifier.
 */
export const definePartitionFunctions = (tables: readonly PartitionedTable[], schema: string): string[] => {
  const readSettings = `select * into strict settings
    from (values ${tables.map(settingsOf).join(', ')}) as tables (name, time_column, span, retention, is_unlogged)
    where name = parent;`
  const readStart = `if child !~ ('^' || parent || '_t[0-9]{12}$') then
    raise exception '% is not the name of a partition of %', child, parent;
  end if;
  starts := to_timestamp(right(child, 12), 'YYYYMMDDHH24MI');`
  const define = (signature: string, body: string): string => `
create or replace function ${schema}.${signature}
language plpgsql security definer set search_path to ${schema}, pg_temp set timezone to 'UTC' as $$
declare
  settings record;
  starts timestamptz;
begin
  ${readSettings}
  ${body}
end
$$`
  return [
    define('make_partition(parent text, child text) returns boolean', `${readStart}\n  ${make}`),
    define('drop_partition(parent text, child text) returns boolean', `${readStart}\n  ${drop}`),
    define('delete_expired(parent text) returns void', deleteExpired),
  ]
}

/** Before version 15, Postgres reads no literal of more than 2^31 milliseconds. */
const interval = (ms: number): string => `${ms} * interval '1 millisecond'`

const settingsOf = ({ name, column, partitionMs, retentionMs, isUnlogged }: PartitionedTable): string =>
  `('${name}', '${column}', ${interval(partitionMs)}, ${interval(retentionMs)}, ${isUnlogged})`

/** The window of allowed starts is wider than the plan, because the clock of the API may differ. */
const make = `if starts not between now() - 2 * settings.span and now() + 4 * settings.span
    or extract(epoch from starts)::bigint % extract(epoch from settings.span)::bigint <> 0
  then
    raise exception 'The partition % cannot be created: its range is not one of the present', child;
  end if;
  if to_regclass(quote_ident(child)) is not null then return false; end if;
  execute format('create %s table %I (like %I including defaults including indexes)',
    case when settings.is_unlogged then 'unlogged' else '' end, child, parent);
  -- Attaching takes a weaker lock than \`create table … partition of\`, so writers continue.
  execute format('alter table %I attach partition %I for values from (%L) to (%L)',
    parent, child, starts, starts + settings.span);
  return true;`

const drop = `if starts + settings.span + settings.retention > now() then return false; end if;
  execute format('drop table if exists %I', child);
  return true;`

const deleteExpired = `execute format('delete from %I where %I < %L',
    parent || '_default', settings.time_column, now() - settings.retention);`

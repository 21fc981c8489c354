/*
 * server/spi.c
 *		Runs SQL.
 *
 * Names in the SQL are qualified and quoted by who wrote it, so that nothing
 * is looked up through the search_path.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "utils/memutils.h"

#include "pattern.h"

/* A statement that was prepared in this session. */
typedef struct SavedPlan
{
	NameEntry	sql;
	SPIPlanPtr	plan;
} SavedPlan;

/* Run one statement that returns nothing, with the rights of the user. */
void
spi_run(const char *sql)
{
	int			result;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	result = SPI_execute(sql, false, 0);
	if (result < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
}

/*
 * Run one statement with the rights of the user, and return the first column of
 * its rows as text: a list of strings, NULL for an SQL NULL, in the current
 * memory context.
 */
List *
spi_texts(const char *sql)
{
	MemoryContext caller = CurrentMemoryContext;
	List	   *result = NIL;
	int			code;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	code = SPI_execute(sql, false, 0);
	if (code < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(code));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		char	   *value = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);
		MemoryContext inner = MemoryContextSwitchTo(caller);

		result = lappend(result, value == NULL ? NULL : pstrdup(value));
		MemoryContextSwitchTo(inner);
	}
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
	return result;
}

/* Are these the types of its parameters?  Those of a column may have been altered. */
static bool
has_types(SPIPlanPtr plan, int nargs, const Oid *types)
{
	for (int i = 0; i < nargs; i++)
		if (SPI_getargtypeid(plan, i) != types[i])
			return false;
	return true;
}

/*
 * A plan for a statement, prepared when it is first asked for and kept for the
 * session: the same text means the same statement, which PostgreSQL plans anew
 * when what it names has changed.  The caller is connected to SPI.
 */
SPIPlanPtr
spi_saved_plan(const char *sql, int nargs, Oid *types)
{
	static HTAB *plans = NULL;
	NameEntry	name = {sql, strlen(sql)};
	SavedPlan  *saved;
	SPIPlanPtr	plan;

	if (plans == NULL)
	{
		MemoryContext caller = MemoryContextSwitchTo(TopMemoryContext);

		plans = names_create(sizeof(SavedPlan));
		MemoryContextSwitchTo(caller);
	}
	saved = hash_search(plans, &name, HASH_FIND, NULL);
	if (saved != NULL && has_types(saved->plan, nargs, types))
		return saved->plan;
	plan = SPI_prepare(sql, nargs, types);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	SPI_keepplan(plan);
	if (saved != NULL)
		SPI_freeplan(saved->plan);
	else
	{
		name.name = MemoryContextStrdup(TopMemoryContext, sql);
		saved = hash_search(plans, &name, HASH_ENTER, NULL);
	}
	saved->plan = plan;
	return plan;
}

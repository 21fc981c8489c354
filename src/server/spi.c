/*
 * server/spi.c
 *		Runs SQL.
 *
 * Names in the SQL are qualified and quoted by who wrote it, so that nothing
 * is looked up through the search_path.
 */
#include "postgres.h"

#include "executor/spi.h"

#include "pattern.h"

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

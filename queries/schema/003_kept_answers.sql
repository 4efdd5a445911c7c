-- Schema 3: answers that are kept, because finding them takes long in a large store.

CREATE TABLE kept_answer (
  query VARCHAR,
  answer VARCHAR,
  made_by VARCHAR,
  sources BIGINT,
  last_source INTEGER);
COMMENT ON TABLE kept_answer IS 'Questions of telltale collectives whose answer without filters was kept at the end of an ingest';
COMMENT ON COLUMN kept_answer.answer IS 'the table that holds it, in the order of its rows';
COMMENT ON COLUMN kept_answer.made_by IS 'digest of the program''s queries and version: an answer of another program is not used';
COMMENT ON COLUMN kept_answer.last_source IS 'with sources: from which sources it was made; it is out of date where these are not the store''s';

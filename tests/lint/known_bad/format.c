/* Badly formed on purpose: the format gate must refuse it. */
int  known_bad( int x ){
  return x ; }

use super::{Kind, Server, fresh};

#[test]
fn databases_of_one_server_know_nothing_of_each_other() {
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let (one, other) = (fresh(kind), fresh(kind));
        one.run("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (7);");
        assert_eq!(one.run("SELECT n FROM t;").trim(), "7");
        other.run("CREATE TABLE t (n INTEGER);");
        assert_eq!(other.run("SELECT n FROM t;").trim(), "");
        assert_eq!(one.place.port, other.place.port);
    }
}

#[test]
fn a_killed_server_comes_back_with_its_data() {
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let server = Server::start(kind);
        let database = server.database();
        database.run("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (7);");
        server.kill();
        server.restart();
        assert_eq!(database.run("SELECT n FROM t;").trim(), "7");
    }
}

use serde_json::json;

use crate::testing::{Lab, id, told};

#[tokio::test]
async fn scopes_are_made_shared_and_removed() {
    let lab = Lab::new().await;
    let (admin, one, two) = (lab.admin(), lab.member("one"), lab.member("two"));
    let scope = one.create("address_scope", json!({"name": "as", "ip_version": "4"})).await.unwrap();
    let want = json!({"id": scope["id"], "project_id": "one", "name": "as", "shared": false, "ip_version": 4});
    assert_eq!(scope, want);
    let scope = id(&scope);
    assert_eq!(told(&two.get("address_scope", &scope).await.unwrap_err()), (404, "AddressScopeNotFound".into()));
    assert_eq!(one.try_create("address_scope", json!({"ip_version": 4, "shared": true})).await.0, 403);
    assert_eq!(one.try_create("address_scope", json!({"name": "x"})).await.0, 400);
    assert_eq!(one.try_create("address_scope", json!({"ip_version": 5})).await.0, 400);

    let shared = admin.update("address_scope", &scope, json!({"shared": true})).await.unwrap();
    assert_eq!(shared["shared"], true);
    assert_eq!(two.list("address_scope", "shared=true").await.unwrap().len(), 1);
    let fault = admin.update("address_scope", &scope, json!({"shared": false})).await.unwrap_err();
    assert_eq!(told(&fault), (400, "AddressScopeUpdateError".into()));

    // A pool of another project may be in a shared scope, but then only the scope's owner decides on it.
    let body = json!({"name": "p", "prefixes": ["198.18.0.0/16"], "address_scope_id": scope});
    let pool = id(&two.create("subnetpool", body).await.unwrap());
    let fault = two.update("subnetpool", &pool, json!({"name": "q"})).await.unwrap_err();
    assert_eq!(told(&fault), (400, "IllegalSubnetPoolUpdate".into()));
    let fault = one.delete("address_scope", &scope).await.unwrap_err();
    assert_eq!(told(&fault), (409, "AddressScopeInUse".into()));
    two.delete("subnetpool", &pool).await.unwrap();
    one.delete("address_scope", &scope).await.unwrap();
    assert_eq!(lab.sql("SELECT COUNT(*) FROM addressscoperbacs").await, "0");
}

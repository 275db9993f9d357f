cat >"$dir/nginx.conf" <<END
user root; daemon off; master_process off; error_log stderr crit; pid $dir/nginx.pid;
events {}
http {
  access_log $dir/access.log;
  client_body_temp_path $dir/temp; proxy_temp_path $dir/temp; fastcgi_temp_path $dir/temp;
  uwsgi_temp_path $dir/temp; scgi_temp_path $dir/temp;
  server { listen 80; listen 81; root $dir; }
}
END
exec nginx -e stderr -c "$dir/nginx.conf"
